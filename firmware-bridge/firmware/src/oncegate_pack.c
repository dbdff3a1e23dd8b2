#include "oncegate_pack.h"

#include <string.h>

#include "oncegate_frame.h"

/* Labels of RFC 8428 section 6. */
enum { NAME = 0, UNIT = 1, NUMBER = 2, STRING = 3, BOOLEAN = 4 };

#define DECIMAL_FRACTION 0xC4u
#define FALSE_OR_TRUE 0xF4u
#define FLOAT_OF_4_BYTES 0xFAu
/* Infinite and NaN have these bits set. */
#define FLOAT_EXPONENT 0x7F800000u

uint8_t oncegate_put_head(uint8_t *bytes, uint8_t major, uint64_t argument)
{
    uint8_t size = 0;

    if (argument < 24) {
        bytes[0] = (uint8_t)(major | argument);
        return 1;
    }
    uint8_t info = 24;
    for (size = 1; size < 8 && argument >> (8 * size) != 0; size = (uint8_t)(size * 2)) {
        info++;
    }
    bytes[0] = (uint8_t)(major | info);
    for (uint8_t at = 0; at < size; at++) {
        bytes[1 + at] = (uint8_t)(argument >> (8 * (size - 1 - at)));
    }
    return (uint8_t)(1 + size);
}

static void put(oncegate_pack *pack, const uint8_t *bytes, size_t count)
{
    if (pack->overflowed || count > pack->capacity - pack->count) {
        pack->overflowed = true;
        return;
    }
    memcpy(pack->bytes + pack->count, bytes, count);
    pack->count += count;
}

static void put_byte(oncegate_pack *pack, uint8_t byte)
{
    put(pack, &byte, 1);
}

static void put_integer(oncegate_pack *pack, int32_t value)
{
    uint8_t head[5];
    /* CBOR has -1 - n for a negative number: the complement, which no value overflows. */
    uint8_t count = value < 0
        ? oncegate_put_head(head, ONCEGATE_CBOR_NEGATIVE, (uint32_t)~value)
        : oncegate_put_head(head, ONCEGATE_CBOR_UNSIGNED, (uint32_t)value);
    put(pack, head, count);
}

static void put_text(oncegate_pack *pack, const char *text, size_t count)
{
    uint8_t head[9];
    put(pack, head, oncegate_put_head(head, ONCEGATE_CBOR_TEXT, count));
    put(pack, (const uint8_t *)text, count);
}

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Of at most `most` printable ASCII characters; returns `most` + 1 for others. */
static size_t printable_count(const char *text, size_t most)
{
    size_t count = 0;
    while (count <= most && text[count] != 0) {
        if (text[count] < ' ' || text[count] > '~') {
            return most + 1;
        }
        count++;
    }
    return count;
}

static bool is_name(const char *name)
{
    if (name == NULL || !is_letter_or_digit(name[0])) {
        return false;
    }
    size_t count = 0;
    for (; name[count] != 0; count++) {
        if (count == ONCEGATE_NAME_BYTES_MAX) {
            return false;
        }
        if (!is_letter_or_digit(name[count]) && strchr(".:_-", name[count]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool is_unit(const char *unit)
{
    size_t count = printable_count(unit, ONCEGATE_UNIT_BYTES_MAX);
    return count >= 1 && count <= ONCEGATE_UNIT_BYTES_MAX;
}

/* Put everything of a record up to the label of its value. */
static bool begin_record(oncegate_pack *pack, const char *name, const char *unit, uint8_t label)
{
    pack->overflowed = false;
    if (pack->records == ONCEGATE_RECORDS_MAX || !is_name(name) || (unit != NULL && !is_unit(unit))) {
        return false;
    }
    put_byte(pack, (uint8_t)(ONCEGATE_CBOR_MAP | (unit == NULL ? 2 : 3)));
    put_byte(pack, NAME);
    put_text(pack, name, strlen(name));
    if (unit != NULL) {
        put_byte(pack, UNIT);
        put_text(pack, unit, strlen(unit));
    }
    put_byte(pack, label);
    return true;
}

/* Take the record back that did not fit. */
static bool end_record(oncegate_pack *pack, size_t began_at)
{
    if (pack->overflowed) {
        pack->count = began_at;
        return false;
    }
    pack->records++;
    return true;
}

bool oncegate_pack_integer(oncegate_pack *pack, const char *name, const char *unit, int32_t value)
{
    size_t began_at = pack->count;
    if (!begin_record(pack, name, unit, NUMBER)) {
        return false;
    }
    put_integer(pack, value);
    return end_record(pack, began_at);
}

bool oncegate_pack_decimal(
    oncegate_pack *pack, const char *name, const char *unit, int32_t mantissa, int8_t exponent)
{
    size_t began_at = pack->count;
    if (!begin_record(pack, name, unit, NUMBER)) {
        return false;
    }
    put_byte(pack, DECIMAL_FRACTION);
    put_byte(pack, ONCEGATE_CBOR_ARRAY | 2);
    put_integer(pack, exponent);
    put_integer(pack, mantissa);
    return end_record(pack, began_at);
}

bool oncegate_pack_float(oncegate_pack *pack, const char *name, const char *unit, float value)
{
    size_t began_at = pack->count;
    uint32_t bits;
    uint8_t item[5] = {FLOAT_OF_4_BYTES};

    memcpy(&bits, &value, sizeof bits);
    if ((bits & FLOAT_EXPONENT) == FLOAT_EXPONENT || !begin_record(pack, name, unit, NUMBER)) {
        return false;
    }
    oncegate_put_u32(item + 1, bits);
    put(pack, item, sizeof item);
    return end_record(pack, began_at);
}

bool oncegate_pack_boolean(oncegate_pack *pack, const char *name, bool value)
{
    size_t began_at = pack->count;
    if (!begin_record(pack, name, NULL, BOOLEAN)) {
        return false;
    }
    put_byte(pack, (uint8_t)(FALSE_OR_TRUE + (value ? 1 : 0)));
    return end_record(pack, began_at);
}

bool oncegate_pack_text(oncegate_pack *pack, const char *name, const char *text)
{
    size_t began_at = pack->count;
    size_t count = printable_count(text, pack->capacity);
    if (count > pack->capacity || !begin_record(pack, name, NULL, STRING)) {
        return false;
    }
    put_text(pack, text, count);
    return end_record(pack, began_at);
}
