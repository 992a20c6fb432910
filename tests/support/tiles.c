/* AMX's instructions as functions, for processors that have none: tests/support/tiles.py. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct {
  uint8_t rows[8];
  uint16_t widths[8];
  uint8_t bytes[8][16][64];
} tiles;

void soft_ldtilecfg(const uint8_t *memory) {
  memset(&tiles, 0, sizeof tiles);
  if (memory[0] != 1) abort();
  memcpy(tiles.rows, memory + 48, sizeof tiles.rows);
  memcpy(tiles.widths, memory + 16, sizeof tiles.widths);
  for (int i = 0; i < 8; i++)
    if (tiles.rows[i] > 16 || tiles.widths[i] > 64 || !tiles.rows[i] != !tiles.widths[i]) abort();
}

void soft_tilerelease(void) { memset(&tiles, 0, sizeof tiles); }

void soft_tilezero(int8_t tile) {
  if (!tiles.rows[tile]) abort();
  memset(tiles.bytes[tile], 0, sizeof tiles.bytes[tile]);
}

void soft_tileloadd64(int8_t tile, const uint8_t *memory, int64_t pitch) {
  soft_tilezero(tile);
  for (int i = 0; i < tiles.rows[tile]; i++)
    memcpy(tiles.bytes[tile][i], memory + i * pitch, tiles.widths[tile]);
}

void soft_tileloaddt164(int8_t tile, const uint8_t *memory, int64_t pitch) {
  soft_tileloadd64(tile, memory, pitch);
}

void soft_tilestored64(int8_t tile, uint8_t *memory, int64_t pitch) {
  if (!tiles.rows[tile]) abort();
  for (int i = 0; i < tiles.rows[tile]; i++)
    memcpy(memory + i * pitch, tiles.bytes[tile][i], tiles.widths[tile]);
}

static void multiply(int8_t total, int8_t data, int8_t weights, int signed_data,
                     int signed_weights) {
  int k_steps = tiles.widths[data] / 4;
  if (tiles.rows[total] != tiles.rows[data] || tiles.rows[weights] != k_steps ||
      tiles.widths[total] != tiles.widths[weights])
    abort();
  for (int row = 0; row < tiles.rows[total]; row++) {
    int32_t sums[16], words[16];  // of all columns: vector code, and tiles are 0 past their width
    memcpy(sums, tiles.bytes[total][row], sizeof sums);
    for (int k = 0; k < tiles.widths[data]; k++) {
      uint8_t byte = tiles.bytes[data][row][k];
      int value = signed_data ? (int8_t)byte : byte;
      memcpy(words, tiles.bytes[weights][k / 4], sizeof words);
      for (int column = 0; column < 16; column++) {
        uint8_t weight = words[column] >> 8 * (k % 4);
        sums[column] += value * (signed_weights ? (int8_t)weight : weight);
      }
    }
    memcpy(tiles.bytes[total][row], sums, sizeof sums);
  }
}

void soft_tdpbusd(int8_t total, int8_t data, int8_t weights) {
  multiply(total, data, weights, 0, 1);
}

void soft_tdpbsud(int8_t total, int8_t data, int8_t weights) {
  multiply(total, data, weights, 1, 0);
}

void soft_tdpbssd(int8_t total, int8_t data, int8_t weights) {
  multiply(total, data, weights, 1, 1);
}
