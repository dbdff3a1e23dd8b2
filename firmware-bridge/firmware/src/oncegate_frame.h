/* What stands between two 0x00 bytes on the line: COBS around contents that end with a CRC-16.
 *
 * The format is docs/formats/board-frame.md. */
#ifndef ONCEGATE_FRAME_H
#define ONCEGATE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* version u8 | device u32 | boot u32 | sequence u32, integers big-endian */
#define ONCEGATE_HEAD_BYTES 13
#define ONCEGATE_CRC_BYTES 2

/* The start value, and the CRC of nothing: CRC-16/CCITT-FALSE. */
#define ONCEGATE_CRC_INITIAL 0xFFFFu

/* Writes `count` bytes to the line, in order. May wait until the line has taken them. */
typedef void (*oncegate_write)(void *context, const uint8_t *bytes, size_t count);

/* Return the CRC of the bytes that `crc` is of, followed by `count` more. */
uint16_t oncegate_crc16(uint16_t crc, const uint8_t *bytes, size_t count);

void oncegate_put_u32(uint8_t *bytes, uint32_t number);
uint32_t oncegate_get_u32(const uint8_t *bytes);

/* Write a frame: 0x00, the contents stuffed, 0x00. The contents have their CRC already. */
void oncegate_write_frame(oncegate_write write, void *context, const uint8_t *contents, size_t count);

/* Unstuff the bytes between two delimiters, in place. Returns the number of bytes of the contents
 * without their CRC; 0 where the stuffing or the CRC is wrong. */
size_t oncegate_unwrap(uint8_t *stuffed, size_t count);

#ifdef __cplusplus
}
#endif
#endif
