/* Bytes that no gateway means, into the C decoder: `fuzz_receive SEED SECONDS INPUTS` runs under ASan and UBSan,
 * until both are reached.
 *
 * With clang, -DWITH_LIBFUZZER -fsanitize=fuzzer makes a target of libFuzzer of the same. Each input
 * is cut into pieces: some are fed as they are, some are put into a frame whose CRC is right, so that what comes behind
 * the CRC is reached too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "oncegate_board.h"

#define INPUT_BYTES_MAX 512
#define MEMORY_BYTES 80 /* of two or three frames: it is often full */

static oncegate_board board;
static uint32_t counter_ms;
/* The frame that was written last, and how many were acknowledged by hand. */
static uint32_t in_line;
static size_t wrapped_bytes;
static uint8_t wrapped[INPUT_BYTES_MAX * 2];

static void ignore(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    in_line += (uint32_t)count;
}

/* Answers of the board, of which it may write none that nothing asked for. */
static uint32_t carried_out;
static size_t answer_bytes;
static uint8_t answer[64];

static void keep_answer(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    if (answer_bytes + count > sizeof answer) {
        fprintf(stderr, "does not hold: an answer is short\n");
        abort();
    }
    memcpy(answer + answer_bytes, bytes, count);
    answer_bytes += count;
}

static uint8_t carry_out(void *context, uint8_t command, uint32_t argument)
{
    (void)context;
    carried_out++;
    if (command <= ONCEGATE_IDENTIFY && command > 0
        && (argument == 0 || argument > ONCEGATE_ARGUMENT_MS_MAX)) {
        fprintf(stderr, "does not hold: an argument is a time\n");
        abort();
    }
    return (uint8_t)argument;
}

static void collect(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    memcpy(wrapped + wrapped_bytes, bytes, count);
    wrapped_bytes += count;
}

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

/* In memory of its own, so that the sanitizer sees what is beside it. */
static void unwrap_alone(const uint8_t *bytes, size_t count)
{
    uint8_t *copy = malloc(count > 0 ? count : 1);

    require(copy != NULL, "there is memory");
    memcpy(copy, bytes, count);
    require(oncegate_unwrap(copy, count) <= count, "contents are not longer than what was stuffed");
    free(copy);
}

/* As an acknowledgement of any number, some of them that of the oldest frame. */
static void receive_wrapped(const uint8_t *bytes, size_t count, bool is_true)
{
    uint8_t contents[64 + ONCEGATE_CRC_BYTES];
    size_t size = count < 64 ? count : 64;

    memcpy(contents, bytes, size);
    if (is_true) {
        size = ONCEGATE_HEAD_BYTES;
        contents[0] = 0x81;
        oncegate_put_u32(contents + 1, board.device);
        oncegate_put_u32(contents + 5, board.boot);
        oncegate_put_u32(contents + 9, board.sequence - board.waiting + 1);
    } else if (size == ONCEGATE_HEAD_BYTES) {
        contents[0] = 0x81;
        oncegate_put_u32(contents + 1, board.device);
        oncegate_put_u32(contents + 5, board.boot);
        oncegate_put_u32(contents + 9, board.sequence + 1 + contents[12]); /* not sent yet */
    }
    uint16_t crc = oncegate_crc16(ONCEGATE_CRC_INITIAL, contents, size);
    contents[size] = (uint8_t)(crc >> 8);
    contents[size + 1] = (uint8_t)crc;
    wrapped_bytes = 0;
    oncegate_write_frame(collect, NULL, contents, size + ONCEGATE_CRC_BYTES);

    uint32_t before = board.acknowledged;
    bool is_expected = is_true && board.is_sent;
    oncegate_receive(&board, wrapped, wrapped_bytes, counter_ms);
    if (is_true) {
        require(board.acknowledged == before + (is_expected ? 1u : 0u), "a true one counts once");
    } else {
        require(board.acknowledged == before, "another one counts nothing");
    }
    before = board.acknowledged;
    oncegate_receive(&board, wrapped, wrapped_bytes, counter_ms);
    require(board.acknowledged == before, "the same once more counts nothing");
}

/* A command with a right CRC, of any kind and of any length about the right one. */
static void receive_command(const uint8_t *bytes, size_t count)
{
    uint8_t contents[ONCEGATE_HEAD_BYTES + 8 + ONCEGATE_CRC_BYTES] = {0};
    size_t size = ONCEGATE_HEAD_BYTES + (count < 8 ? count : 8);
    bool is_command = count == 5;

    contents[0] = 0x82;
    oncegate_put_u32(contents + 1, board.device);
    oncegate_put_u32(contents + 5, board.boot);
    oncegate_put_u32(contents + 9, counter_ms);
    memcpy(contents + ONCEGATE_HEAD_BYTES, bytes, size - ONCEGATE_HEAD_BYTES);
    uint32_t argument = oncegate_get_u32(contents + ONCEGATE_HEAD_BYTES + 1);
    uint8_t command = contents[ONCEGATE_HEAD_BYTES];
    uint16_t crc = oncegate_crc16(ONCEGATE_CRC_INITIAL, contents, size);
    contents[size] = (uint8_t)(crc >> 8);
    contents[size + 1] = (uint8_t)crc;
    wrapped_bytes = 0;
    oncegate_write_frame(collect, NULL, contents, size + ONCEGATE_CRC_BYTES);

    uint32_t carried_out_before = carried_out, acknowledged = board.acknowledged;
    bool is_bad = (command == 1 || command == 2)
        && (argument == 0 || argument > ONCEGATE_ARGUMENT_MS_MAX);
    answer_bytes = 0;
    board.write = keep_answer;
    oncegate_receive(&board, wrapped, wrapped_bytes, counter_ms);
    board.write = ignore;
    require(board.acknowledged == acknowledged, "a command acknowledges nothing");
    require(carried_out == carried_out_before + (is_command && !is_bad ? 1u : 0u),
        "a whole command is carried out once, another not");
    require((answer_bytes > 0) == is_command, "a whole command is answered, another not");
    if (is_command) {
        require(oncegate_unwrap(answer + 1, answer_bytes - 2) == ONCEGATE_HEAD_BYTES + 1
            && answer[1] == 0x42 && memcmp(answer + 2, contents + 1, ONCEGATE_HEAD_BYTES - 1) == 0
            && answer[ONCEGATE_HEAD_BYTES + 1] == (is_bad ? 2 : (uint8_t)argument),
            "the answer has the command's head and its code");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static uint8_t memory[MEMORY_BYTES];
    static const char names[] = "aB0.:_-";

    oncegate_open(&board, 7, 1, memory, sizeof memory, ignore, NULL, 0);
    oncegate_on_command(&board, carry_out);
    for (size_t at = 0; at < count;) {
        size_t size = bytes[at] >> 3;
        uint8_t what = bytes[at] & 7;
        at++;
        size = size < count - at ? size : count - at;
        counter_ms += (uint32_t)size * 40;
        if (what == 0) {
            char name[40] = {names[size % (sizeof names - 1)]};
            memcpy(name + 1, bytes + at, size); /* with anything in it, or as it may be */
            for (size_t place = 1; (counter_ms & 1024) != 0 && place < size; place++) {
                name[place] = names[(uint8_t)name[place] % (sizeof names - 1)];
            }
            oncegate_begin(&board, counter_ms);
            oncegate_add_text(&board, "text", name);
            oncegate_add_integer(&board, name, NULL, (int32_t)size);
            oncegate_keep(&board);
        } else if (what == 1) {
            unwrap_alone(bytes + at, size);
        } else if (what == 2) {
            receive_command(bytes + at, size > 5 && (size & 1) != 0 ? 5 : size % 10);
        } else if (what == 3) {
            oncegate_receive(&board, bytes + at, size, counter_ms);
        } else {
            receive_wrapped(bytes + at, size, what > 6);
        }
        oncegate_poll(&board, counter_ms);
        require(board.sequence == board.acknowledged + board.given_up + board.waiting,
            "each frame waits, is acknowledged or given up");
        require(board.used <= sizeof memory, "the memory is not overdrawn");
        at += size;
    }
    return 0;
}

#ifndef WITH_LIBFUZZER
static uint32_t chance;

static uint32_t next_chance(void)
{
    chance ^= chance << 13;
    chance ^= chance >> 17;
    chance ^= chance << 5;
    return chance;
}

int main(int count, char **words)
{
    static uint8_t input[INPUT_BYTES_MAX];
    unsigned long inputs = 0, acknowledged = 0;

    chance = count > 1 ? (uint32_t)strtoul(words[1], NULL, 10) | 1u : 1u;
    time_t end = time(NULL) + (count > 2 ? atol(words[2]) : 1);
    unsigned long inputs_min = count > 3 ? strtoul(words[3], NULL, 10) : 0;
    while (inputs < inputs_min || time(NULL) < end) {
        for (int more = 0; more < 1000; more++) {
            size_t size = next_chance() % sizeof input;
            for (size_t at = 0; at < size; at++) {
                /* Half of them zeros and codes of COBS, which cut what comes into frames. */
                uint32_t dice = next_chance();
                input[at] = (uint8_t)(dice & 0x100u ? dice : dice >> 9 & 0x0Fu);
            }
            LLVMFuzzerTestOneInput(input, size);
            acknowledged += board.acknowledged;
            inputs++;
        }
    }
    printf("%lu inputs, %lu acknowledgements and %lu commands among them\n", inputs, acknowledged,
        (unsigned long)carried_out);
    return 0;
}
#endif
