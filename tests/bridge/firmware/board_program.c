/* The library behind lines of text, for tests in another language: one request a line, one answer.
 *
 * open DEVICE BOOT MEMORY-BYTES COUNTER-MS | begin MS | integer NAME UNIT V | decimal NAME UNIT M E
 * float NAME UNIT V | boolean NAME V | text NAME V | keep | poll MS | receive MS HEX | count SLOTS-HEX
 * handle CODE
 *
 * The answer is a number, or what was written to the line in hexadecimal digits; "-" is no unit. After `handle` each
 * command is answered with this code, and ` COMMAND:ARGUMENT ` stands where it was carried out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oncegate_board.h"
#include "oncegate_boot.h"

#define LINE_BYTES_MAX 8192

static oncegate_board board;
static uint8_t *memory;
static uint8_t slots[LINE_BYTES_MAX];
static unsigned long writes_left;
static uint8_t code;

static void write_hex(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    while (count-- > 0) {
        printf("%02x", *bytes++);
    }
}

static size_t bytes_of(const char *hex, uint8_t *bytes)
{
    size_t count = 0;
    unsigned byte;
    for (; sscanf(hex + 2 * count, "%2x", &byte) == 1; count++) {
        bytes[count] = (uint8_t)byte;
    }
    return count;
}

static bool read_slot(void *context, uint16_t slot, uint8_t bytes[ONCEGATE_SLOT_BYTES])
{
    (void)context;
    memcpy(bytes, slots + slot * ONCEGATE_SLOT_BYTES, ONCEGATE_SLOT_BYTES);
    return true;
}

/* Writes a byte at a time, and no more when the power is cut. */
static bool write_slot(void *context, uint16_t slot, const uint8_t bytes[ONCEGATE_SLOT_BYTES])
{
    (void)context;
    for (size_t at = 0; at < ONCEGATE_SLOT_BYTES && writes_left > 0; at++, writes_left--) {
        slots[slot * ONCEGATE_SLOT_BYTES + at] = bytes[at];
    }
    return true;
}

static void count_start(char **words)
{
    oncegate_slots all = {read_slot, write_slot, NULL, 0};
    all.slots = (uint16_t)(bytes_of(words[1], slots) / ONCEGATE_SLOT_BYTES);
    writes_left = strtoul(words[2], NULL, 10);
    printf("%lu ", (unsigned long)oncegate_count_start(&all));
    write_hex(NULL, slots, (size_t)all.slots * ONCEGATE_SLOT_BYTES);
}

static uint32_t number(const char *word)
{
    return (uint32_t)strtoul(word, NULL, 10);
}

static uint8_t carry_out(void *context, uint8_t command, uint32_t argument)
{
    (void)context;
    printf(" %u:%lu ", command, (unsigned long)argument);
    return code;
}

static void answer(char **words, int count)
{
    static uint8_t bytes[LINE_BYTES_MAX];
    const char *verb = words[0];
    const char *unit = count > 2 && strcmp(words[2], "-") != 0 ? words[2] : NULL;

    if (strcmp(verb, "open") == 0) {
        uint16_t size = (uint16_t)number(words[3]);
        free(memory);
        memory = malloc(size); /* of that size, so that the sanitizer sees what is beyond it */
        oncegate_open(&board, number(words[1]), number(words[2]), memory, size, write_hex, NULL,
            number(words[4]));
    } else if (strcmp(verb, "begin") == 0) {
        oncegate_begin(&board, number(words[1]));
    } else if (strcmp(verb, "integer") == 0) {
        printf("%d", oncegate_add_integer(&board, words[1], unit, (int32_t)atol(words[3])));
    } else if (strcmp(verb, "decimal") == 0) {
        printf("%d", oncegate_add_decimal(
            &board, words[1], unit, (int32_t)atol(words[3]), (int8_t)atoi(words[4])));
    } else if (strcmp(verb, "float") == 0) {
        printf("%d", oncegate_add_float(&board, words[1], unit, strtof(words[3], NULL)));
    } else if (strcmp(verb, "boolean") == 0) {
        printf("%d", oncegate_add_boolean(&board, words[1], words[2][0] == '1'));
    } else if (strcmp(verb, "text") == 0) {
        printf("%d", oncegate_add_text(&board, words[1], words[2]));
    } else if (strcmp(verb, "keep") == 0) {
        printf("%lu", (unsigned long)oncegate_keep(&board));
    } else if (strcmp(verb, "poll") == 0) {
        oncegate_poll(&board, number(words[1]));
    } else if (strcmp(verb, "receive") == 0) {
        oncegate_receive(&board, bytes, bytes_of(words[2], bytes), number(words[1]));
        printf(" %u %lu %lu", board.waiting, (unsigned long)board.acknowledged,
            (unsigned long)board.given_up);
    } else if (strcmp(verb, "handle") == 0) {
        code = (uint8_t)number(words[1]);
        oncegate_on_command(&board, carry_out);
    } else if (strcmp(verb, "count") == 0) {
        count_start(words);
    } else {
        printf("unknown");
    }
    printf("\n");
    fflush(stdout);
}

int main(void)
{
    static char line[2 * LINE_BYTES_MAX];
    char *words[6];

    while (fgets(line, sizeof line, stdin) != NULL) {
        int count = 0;
        for (char *word = strtok(line, " \n"); word != NULL && count < 6; word = strtok(NULL, " \n")) {
            words[count++] = word;
        }
        answer(words, count);
    }
    free(memory);
    return 0;
}
