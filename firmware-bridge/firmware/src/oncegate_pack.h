/* The records of one SenML pack in CBOR (RFC 8428 section 6), without the array around them.
 *
 * The age of a pack is added when it is sent, to its first record: see oncegate_board.c. */
#ifndef ONCEGATE_PACK_H
#define ONCEGATE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records of one frame. */
#define ONCEGATE_RECORDS_MAX 64
#define ONCEGATE_NAME_BYTES_MAX 64
#define ONCEGATE_UNIT_BYTES_MAX 32

typedef struct {
    uint8_t *bytes;
    size_t capacity;
    size_t count;    /* bytes */
    uint8_t records;
    bool overflowed; /* within the record that is being added */
} oncegate_pack;

/* Major types of CBOR, in place in the first byte of an item. */
#define ONCEGATE_CBOR_UNSIGNED 0x00u
#define ONCEGATE_CBOR_NEGATIVE 0x20u
#define ONCEGATE_CBOR_TEXT 0x60u
#define ONCEGATE_CBOR_ARRAY 0x80u
#define ONCEGATE_CBOR_MAP 0xA0u

/* Write the head of an item, in the shortest form; returns its bytes, 1 to 9. */
uint8_t oncegate_put_head(uint8_t *bytes, uint8_t major, uint64_t argument);

/* Each adds one record and returns true, or leaves the pack as it was: the name, the unit or the
 * value is none that the format has, or there is no room. `unit` may be NULL. */
bool oncegate_pack_integer(oncegate_pack *pack, const char *name, const char *unit, int32_t value);
bool oncegate_pack_decimal(
    oncegate_pack *pack, const char *name, const char *unit, int32_t mantissa, int8_t exponent);
bool oncegate_pack_float(oncegate_pack *pack, const char *name, const char *unit, float value);
bool oncegate_pack_boolean(oncegate_pack *pack, const char *name, bool value);
bool oncegate_pack_text(oncegate_pack *pack, const char *name, const char *text);

#ifdef __cplusplus
}
#endif
#endif
