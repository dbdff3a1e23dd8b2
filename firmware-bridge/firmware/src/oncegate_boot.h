/* Counts a board's starts in EEPROM or flash, through power cuts at any moment. */
#ifndef ONCEGATE_BOOT_H
#define ONCEGATE_BOOT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number u32 and its CRC u16. */
#define ONCEGATE_SLOT_BYTES 6

/* Each returns false where the memory fails. `slot` counts from 0. */
typedef struct {
    bool (*read)(void *context, uint16_t slot, uint8_t bytes[ONCEGATE_SLOT_BYTES]);
    bool (*write)(void *context, uint16_t slot, const uint8_t bytes[ONCEGATE_SLOT_BYTES]);
    void *context;
    uint16_t slots; /* at least 2; the number's place moves on at each start, which spreads the wear */
} oncegate_slots;

/* Return the number of this start, one more than the highest that is there. It is read back before
 * it is returned, and the one before stays until then: a start that is cut here has given its
 * number to no frame. 0: the memory fails, or has no slots; take a random number then. */
uint32_t oncegate_count_start(const oncegate_slots *memory);

#ifdef __cplusplus
}
#endif
#endif
