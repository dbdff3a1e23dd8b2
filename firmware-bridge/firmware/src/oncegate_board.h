/* A sensor board of Oncegate: each reading is kept until the gateway has it durably.
 *
 *     oncegate_open                        at the start, with a boot number of its own
 *     oncegate_begin .. add .. oncegate_keep   at each measurement
 *     oncegate_receive                     with each byte from the line
 *     oncegate_poll                        often: sends what is due
 *     oncegate_on_command                  where the board carries out commands
 *
 * No heap, no interrupt, no clock of its own: times are milliseconds of a counter that starts
 * anywhere and wraps at 2^32, such as Arduino's millis(). Some call has to come once in 49 days. All calls come
 * from one thread. The format is docs/formats/board-frame.md. */
#ifndef ONCEGATE_BOARD_H
#define ONCEGATE_BOARD_H

#include "oncegate_frame.h"
#include "oncegate_pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The contents of the largest frame with its CRC, in bytes: RAM of each board. 1,016 bytes stuffed
 * are within the 1,024 that the bridge reads. */
#ifndef ONCEGATE_FRAME_BYTES_MAX
#define ONCEGATE_FRAME_BYTES_MAX 128
#endif
#if ONCEGATE_FRAME_BYTES_MAX < 64 || ONCEGATE_FRAME_BYTES_MAX > 1016
#error "ONCEGATE_FRAME_BYTES_MAX is not in 64 to 1016"
#endif

/* What is added to the records when they are sent: the head and the CRC, the array's head (2) and
 * the age (1 + 3 + 9). */
#define ONCEGATE_FRAME_OVERHEAD_BYTES (ONCEGATE_HEAD_BYTES + ONCEGATE_CRC_BYTES + 2 + 13)
/* What a frame takes of the memory beside its records. */
#define ONCEGATE_KEPT_HEAD_BYTES 9

/* What comes from the gateway is a command at the most: the head, command u8, argument u32, the CRC. */
#define ONCEGATE_COMMAND_BYTES (ONCEGATE_HEAD_BYTES + 5 + ONCEGATE_CRC_BYTES)

#define ONCEGATE_RESEND_MS_MIN 500u
#define ONCEGATE_RESEND_MS_MAX 30000u

/* Commands that a gateway sends, each with a time in milliseconds. */
#define ONCEGATE_SET_INTERVAL 1u /* from measurement to measurement, until the next start */
#define ONCEGATE_IDENTIFY 2u     /* how long the board shows itself */
#define ONCEGATE_ARGUMENT_MS_MAX 86400000u
/* What came of a command. */
#define ONCEGATE_DONE 0u
#define ONCEGATE_UNKNOWN_COMMAND 1u
#define ONCEGATE_BAD_ARGUMENT 2u

/* Carries out a command and returns what came of it, before the gateway stops waiting (5 s). The
 * argument of the two commands above is 1 to ONCEGATE_ARGUMENT_MS_MAX. Must not call oncegate_receive. */
typedef uint8_t (*oncegate_carry_out)(void *context, uint8_t command, uint32_t argument);

typedef struct {
    oncegate_write write;
    void *context;
    uint32_t device, boot;
    uint32_t sequence;     /* of the latest frame kept */
    uint32_t acknowledged; /* frames, in this start */
    uint32_t given_up;     /* frames, because the memory was full */
    uint16_t waiting;      /* frames that no acknowledgement has come for */

    /* From here on: not for the caller. */
    uint8_t *memory;
    uint16_t memory_bytes, oldest_at, used;
    uint64_t now_ms, begun_ms, first_sent_ms, sent_ms;
    uint32_t counter_ms, resend_ms;
    bool is_sent, is_composing, is_skipping;
    oncegate_pack pack;
    oncegate_carry_out carry_out;
    uint8_t part[ONCEGATE_COMMAND_BYTES + 1]; /* of an acknowledgement or a command, stuffed */
    uint8_t part_bytes;
    uint8_t frame[ONCEGATE_FRAME_BYTES_MAX];
} oncegate_board;

/* Begin. `device` is unique among a gateway's boards, `boot` is one that it never had before (see
 * oncegate_boot.h). `memory` keeps what is not acknowledged; both have to live as long as the board. */
void oncegate_open(
    oncegate_board *board, uint32_t device, uint32_t boot, uint8_t *memory, uint16_t memory_bytes,
    oncegate_write write, void *context, uint32_t counter_ms);

/* Have commands carried out by `carry_out`, which is given the board's `context`. Without it each
 * command is answered with ONCEGATE_UNKNOWN_COMMAND. */
void oncegate_on_command(oncegate_board *board, oncegate_carry_out carry_out);

/* Begin a frame of records measured now. Records of a frame that was begun and not kept are gone. */
void oncegate_begin(oncegate_board *board, uint32_t counter_ms);

/* Each adds a record to the frame that was begun, and returns false where it cannot: nothing was
 * begun, no room, a name that is not 1 to 64 of [A-Za-z0-9.:_-] beginning with a letter or digit, a
 * unit that is not 1 to 32 printable ASCII characters (or NULL), a value that is infinite or NaN, a text that is
 * not printable ASCII. What was not measured is left out, not added with some value. */
bool oncegate_add_integer(oncegate_board *board, const char *name, const char *unit, int32_t value);
/* mantissa * 10^exponent: 2150 and -2 for 21.50. Exact, and without floating point. */
bool oncegate_add_decimal(
    oncegate_board *board, const char *name, const char *unit, int32_t mantissa, int8_t exponent);
bool oncegate_add_float(oncegate_board *board, const char *name, const char *unit, float value);
bool oncegate_add_boolean(oncegate_board *board, const char *name, bool value);
bool oncegate_add_text(oncegate_board *board, const char *name, const char *text);

/* Number and keep the frame. Where the memory is full its oldest frames are given up, and the gap
 * in `sequence` shows it. Returns its sequence; 0: it has no record, or is larger than the memory. */
uint32_t oncegate_keep(oncegate_board *board);

/* Take bytes from the line, in any pieces: acknowledgements and commands among anything else. A
 * command is carried out, and its answer written, before this returns. */
void oncegate_receive(oncegate_board *board, const uint8_t *bytes, size_t count, uint32_t counter_ms);

/* Send the oldest frame where it is due: new, or without an acknowledgement for too long. The next
 * is sent when it is acknowledged, so that readings stay in order. Sends nothing between
 * oncegate_begin and oncegate_keep. */
void oncegate_poll(oncegate_board *board, uint32_t counter_ms);

#ifdef __cplusplus
}
#endif
#endif
