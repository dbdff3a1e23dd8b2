#include "oncegate_board.h"

#include <string.h>

#define FRAME_VERSION 1u
#define ACKNOWLEDGEMENT_KIND 0x81u
#define COMMAND_KIND 0x82u
#define ANSWER_KIND 0x42u
#define COMMAND_CONTENT_BYTES (ONCEGATE_COMMAND_BYTES - ONCEGATE_CRC_BYTES)
/* CBOR: label -3 of the base time, and a decimal fraction of exponent -3, milliseconds. */
static const uint8_t BASE_TIME_MS[] = {0x22, 0xC4, 0x82, 0x22};
/* Times from 2^28 s on would be times of day. */
#define AGE_MS_MAX ((UINT64_C(1) << 28) * 1000 - 1000)

/* A frame in the memory: records u8 | bytes u16 | milliseconds u48 | the records' bytes. The frames
 * are in the order of their numbers, without a gap, the oldest first. */

/* Extend the counter, which wraps after 49 days: a frame may wait longer. */
static void update_time(oncegate_board *board, uint32_t counter_ms)
{
    board->now_ms += (uint32_t)(counter_ms - board->counter_ms);
    board->counter_ms = counter_ms;
}

static uint16_t place_of(const oncegate_board *board, uint16_t offset)
{
    uint32_t at = (uint32_t)board->oldest_at + offset;
    return (uint16_t)(at < board->memory_bytes ? at : at - board->memory_bytes);
}

static void append(oncegate_board *board, const uint8_t *bytes, uint16_t count)
{
    for (uint16_t at = 0; at < count; at++) {
        board->memory[place_of(board, board->used++)] = bytes[at];
    }
}

static void copy_oldest(const oncegate_board *board, uint16_t offset, uint8_t *bytes, uint16_t count)
{
    for (uint16_t at = 0; at < count; at++) {
        bytes[at] = board->memory[place_of(board, (uint16_t)(offset + at))];
    }
}

static uint16_t record_bytes_of(const uint8_t *head)
{
    return (uint16_t)((uint16_t)head[1] << 8 | head[2]);
}

static void remove_oldest(oncegate_board *board)
{
    uint8_t head[ONCEGATE_KEPT_HEAD_BYTES];
    copy_oldest(board, 0, head, sizeof head);
    uint16_t bytes = (uint16_t)(sizeof head + record_bytes_of(head));
    board->oldest_at = place_of(board, bytes);
    board->used = (uint16_t)(board->used - bytes);
    board->waiting--;
    board->is_sent = false;
}

static uint32_t oldest_sequence(const oncegate_board *board)
{
    return board->sequence - board->waiting + 1;
}

void oncegate_open(
    oncegate_board *board, uint32_t device, uint32_t boot, uint8_t *memory, uint16_t memory_bytes,
    oncegate_write write, void *context, uint32_t counter_ms)
{
    memset(board, 0, sizeof *board);
    board->write = write;
    board->context = context;
    board->device = device;
    board->boot = boot;
    board->memory = memory;
    board->memory_bytes = memory_bytes;
    board->counter_ms = counter_ms;
    board->resend_ms = ONCEGATE_RESEND_MS_MIN;
    /* Records are composed where they stand in a frame, no larger than they may be there. */
    board->pack.bytes = board->frame;
    board->pack.capacity = sizeof board->frame - ONCEGATE_FRAME_OVERHEAD_BYTES;
}

void oncegate_on_command(oncegate_board *board, oncegate_carry_out carry_out)
{
    board->carry_out = carry_out;
}

void oncegate_begin(oncegate_board *board, uint32_t counter_ms)
{
    update_time(board, counter_ms);
    board->begun_ms = board->now_ms;
    board->is_composing = true;
    board->pack.count = 0;
    board->pack.records = 0;
}

bool oncegate_add_integer(oncegate_board *board, const char *name, const char *unit, int32_t value)
{
    return board->is_composing && oncegate_pack_integer(&board->pack, name, unit, value);
}

bool oncegate_add_decimal(
    oncegate_board *board, const char *name, const char *unit, int32_t mantissa, int8_t exponent)
{
    return board->is_composing
        && oncegate_pack_decimal(&board->pack, name, unit, mantissa, exponent);
}

bool oncegate_add_float(oncegate_board *board, const char *name, const char *unit, float value)
{
    return board->is_composing && oncegate_pack_float(&board->pack, name, unit, value);
}

bool oncegate_add_boolean(oncegate_board *board, const char *name, bool value)
{
    return board->is_composing && oncegate_pack_boolean(&board->pack, name, value);
}

bool oncegate_add_text(oncegate_board *board, const char *name, const char *text)
{
    return board->is_composing && oncegate_pack_text(&board->pack, name, text);
}

uint32_t oncegate_keep(oncegate_board *board)
{
    const oncegate_pack *pack = &board->pack;
    uint16_t bytes = (uint16_t)(ONCEGATE_KEPT_HEAD_BYTES + pack->count);
    uint8_t head[ONCEGATE_KEPT_HEAD_BYTES];

    bool is_frame = board->is_composing && pack->records > 0;
    board->is_composing = false;
    if (!is_frame || bytes > board->memory_bytes || board->sequence == UINT32_MAX) {
        return 0;
    }
    while (board->memory_bytes - board->used < bytes) {
        remove_oldest(board);
        board->given_up++;
    }
    head[0] = pack->records;
    head[1] = (uint8_t)(pack->count >> 8);
    head[2] = (uint8_t)pack->count;
    head[3] = (uint8_t)(board->begun_ms >> 40);
    head[4] = (uint8_t)(board->begun_ms >> 32);
    oncegate_put_u32(head + 5, (uint32_t)board->begun_ms);
    append(board, head, sizeof head);
    append(board, pack->bytes, (uint16_t)pack->count);
    board->waiting++;
    return ++board->sequence;
}

/* Compose the oldest frame, with its age as the base time of its first record, and write it. */
static void send_oldest(oncegate_board *board)
{
    uint8_t head[ONCEGATE_KEPT_HEAD_BYTES];
    uint8_t *frame = board->frame;

    copy_oldest(board, 0, head, sizeof head);
    uint16_t record_bytes = record_bytes_of(head);
    uint64_t measured_ms = (uint64_t)((uint16_t)head[3] << 8 | head[4]) << 32 | oncegate_get_u32(head + 5);
    uint64_t age_ms = board->now_ms - measured_ms;
    age_ms = age_ms < AGE_MS_MAX ? age_ms : AGE_MS_MAX;

    frame[0] = FRAME_VERSION;
    oncegate_put_u32(frame + 1, board->device);
    oncegate_put_u32(frame + 5, board->boot);
    oncegate_put_u32(frame + 9, oldest_sequence(board));
    uint16_t at = ONCEGATE_HEAD_BYTES;
    at = (uint16_t)(at + oncegate_put_head(frame + at, ONCEGATE_CBOR_ARRAY, head[0]));
    copy_oldest(board, sizeof head, frame + at, 1);
    frame[at++]++; /* one pair more in the first record's map */
    memcpy(frame + at, BASE_TIME_MS, sizeof BASE_TIME_MS);
    at = (uint16_t)(at + sizeof BASE_TIME_MS);
    at = (uint16_t)(at + (age_ms == 0
        ? oncegate_put_head(frame + at, ONCEGATE_CBOR_UNSIGNED, 0)
        : oncegate_put_head(frame + at, ONCEGATE_CBOR_NEGATIVE, age_ms - 1)));
    copy_oldest(board, sizeof head + 1, frame + at, (uint16_t)(record_bytes - 1));
    at = (uint16_t)(at + record_bytes - 1);
    uint16_t crc = oncegate_crc16(ONCEGATE_CRC_INITIAL, frame, at);
    frame[at++] = (uint8_t)(crc >> 8);
    frame[at++] = (uint8_t)crc;
    oncegate_write_frame(board->write, board->context, frame, at);
}

void oncegate_poll(oncegate_board *board, uint32_t counter_ms)
{
    update_time(board, counter_ms);
    if (board->waiting == 0 || board->is_composing) {
        return;
    }
    if (board->is_sent && board->now_ms - board->sent_ms < board->resend_ms) {
        return;
    }
    if (!board->is_sent) {
        board->is_sent = true;
        board->first_sent_ms = board->now_ms;
    }
    board->sent_ms = board->now_ms;
    send_oldest(board);
}

static void receive_acknowledgement(oncegate_board *board)
{
    if (!board->is_sent || oncegate_get_u32(board->part + 9) != oldest_sequence(board)) {
        return; /* a frame that was sent twice is acknowledged twice */
    }
    uint64_t twice_ms = (board->now_ms - board->first_sent_ms) * 2;
    if (twice_ms < ONCEGATE_RESEND_MS_MIN) {
        twice_ms = ONCEGATE_RESEND_MS_MIN;
    }
    board->resend_ms = twice_ms < ONCEGATE_RESEND_MS_MAX ? (uint32_t)twice_ms : ONCEGATE_RESEND_MS_MAX;
    remove_oldest(board);
    board->acknowledged++;
}

static uint8_t code_of(const oncegate_board *board, uint8_t command, uint32_t argument)
{
    if (board->carry_out == NULL) {
        return ONCEGATE_UNKNOWN_COMMAND;
    }
    if ((command == ONCEGATE_SET_INTERVAL || command == ONCEGATE_IDENTIFY)
        && (argument == 0 || argument > ONCEGATE_ARGUMENT_MS_MAX)) {
        return ONCEGATE_BAD_ARGUMENT;
    }
    return board->carry_out(board->context, command, argument);
}

/* Carry a command out, and answer with its head. The frame that is being composed stays as it is. */
static void receive_command(oncegate_board *board)
{
    uint8_t answer[ONCEGATE_HEAD_BYTES + 1 + ONCEGATE_CRC_BYTES];
    const uint8_t *part = board->part;
    uint8_t at = ONCEGATE_HEAD_BYTES;

    memcpy(answer, part, ONCEGATE_HEAD_BYTES);
    answer[0] = ANSWER_KIND;
    answer[at++] = code_of(board, part[ONCEGATE_HEAD_BYTES],
        oncegate_get_u32(part + ONCEGATE_HEAD_BYTES + 1));
    uint16_t crc = oncegate_crc16(ONCEGATE_CRC_INITIAL, answer, at);
    answer[at++] = (uint8_t)(crc >> 8);
    answer[at++] = (uint8_t)crc;
    oncegate_write_frame(board->write, board->context, answer, at);
}

static void receive_frame(oncegate_board *board)
{
    const uint8_t *part = board->part;
    size_t count = oncegate_unwrap(board->part, board->part_bytes);

    if (count < ONCEGATE_HEAD_BYTES || oncegate_get_u32(part + 1) != board->device
        || oncegate_get_u32(part + 5) != board->boot) {
        return; /* damaged, for another board on this line, or for an earlier start of this one */
    }
    if (part[0] == ACKNOWLEDGEMENT_KIND && count == ONCEGATE_HEAD_BYTES) {
        receive_acknowledgement(board);
    } else if (part[0] == COMMAND_KIND && count == COMMAND_CONTENT_BYTES) {
        receive_command(board);
    }
}

void oncegate_receive(oncegate_board *board, const uint8_t *bytes, size_t count, uint32_t counter_ms)
{
    update_time(board, counter_ms);
    while (count-- > 0) {
        uint8_t byte = *bytes++;
        if (byte == 0) {
            if (!board->is_skipping && board->part_bytes > 0) {
                receive_frame(board);
            }
            board->part_bytes = 0;
            board->is_skipping = false;
        } else if (board->part_bytes == sizeof board->part) {
            board->is_skipping = true; /* too long for a command */
        } else {
            board->part[board->part_bytes++] = byte;
        }
    }
}
