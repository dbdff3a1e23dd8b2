// The voltage of pin A0 each second, to an Oncegate gateway on the USB port, which may set another
// interval and light the board's lamp. For boards with EEPROM.
#include <EEPROM.h>
#include <oncegate_board.h>
#include <oncegate_boot.h>

const uint32_t DEVICE = 328;  // unique among a gateway's boards
const uint16_t BOOT_SLOTS = 16;

uint8_t memory[768];
oncegate_board board;
uint32_t interval_ms = 1000;
uint32_t measured_ms;
uint32_t lit_ms, lit_for_ms;

void writeLine(void *, const uint8_t *bytes, size_t count) {
  Serial.write(bytes, count);
}

bool readSlot(void *, uint16_t slot, uint8_t *bytes) {
  for (uint16_t at = 0; at < ONCEGATE_SLOT_BYTES; at++) {
    bytes[at] = EEPROM.read(slot * ONCEGATE_SLOT_BYTES + at);
  }
  return true;
}

bool writeSlot(void *, uint16_t slot, const uint8_t *bytes) {
  for (uint16_t at = 0; at < ONCEGATE_SLOT_BYTES; at++) {
    EEPROM.update(slot * ONCEGATE_SLOT_BYTES + at, bytes[at]);
  }
  return true;
}

uint8_t carryOut(void *, uint8_t command, uint32_t argument) {
  if (command == ONCEGATE_SET_INTERVAL) {
    interval_ms = argument;
    measured_ms = millis();
  } else if (command == ONCEGATE_IDENTIFY) {
    lit_ms = millis();
    lit_for_ms = argument;
    digitalWrite(LED_BUILTIN, HIGH);
  } else {
    return ONCEGATE_UNKNOWN_COMMAND;
  }
  return ONCEGATE_DONE;
}

void setup() {
  const oncegate_slots slots = {readSlot, writeSlot, NULL, BOOT_SLOTS};
  uint32_t boot = oncegate_count_start(&slots);
  if (boot == 0) {
    boot = (uint32_t)analogRead(A0) << 16 | (uint32_t)micros();  // the EEPROM is worn out
  }
  Serial.begin(115200);
  oncegate_open(&board, DEVICE, boot, memory, sizeof memory, writeLine, NULL, millis());
  oncegate_on_command(&board, carryOut);
  pinMode(LED_BUILTIN, OUTPUT);
  measured_ms = millis();
}

void loop() {
  if (millis() - measured_ms >= interval_ms) {
    measured_ms += interval_ms;
    oncegate_begin(&board, millis());
    oncegate_add_decimal(&board, "a0", "V", (int32_t)(analogRead(A0) * 5000L / 1023), -3);
    oncegate_keep(&board);
  }
  if (millis() - lit_ms >= lit_for_ms) {
    digitalWrite(LED_BUILTIN, LOW);
  }
  while (Serial.available() > 0) {
    uint8_t byte = (uint8_t)Serial.read();
    oncegate_receive(&board, &byte, 1, millis());
  }
  oncegate_poll(&board, millis());
}
