"""The targets of boards, phones and servers, by name."""

from typing import NamedTuple


class Board(NamedTuple):
    """One machine that people know by a name.

    Attributes:
        target: its target, as ``parse_target`` takes it.
        what: its full name, and its processor.
    """

    target: str
    what: str


BOARDS: dict[str, Board] = {
    "raspberrypi2": Board("armv7-neon -mcpu=cortex-a7", "Raspberry Pi 2: Cortex-A7, 32 bits"),
    "raspberrypi3": Board("aarch64 -mcpu=cortex-a53", "Raspberry Pi 3 and Zero 2: Cortex-A53"),
    "raspberrypi4": Board("aarch64 -mcpu=cortex-a72", "Raspberry Pi 4: Cortex-A72"),
    "raspberrypi5": Board("aarch64-dotprod -mcpu=cortex-a76", "Raspberry Pi 5: Cortex-A76"),
    "raspberrypipico": Board("cortex-m0plus", "Raspberry Pi Pico: RP2040"),
    "raspberrypipico2": Board("cortex-m33", "Raspberry Pi Pico 2: RP2350, its ARM cores"),
    "jetson-nano": Board("aarch64 -mcpu=cortex-a57", "NVIDIA Jetson Nano: Cortex-A57"),
    "jetson-orin": Board("aarch64-dotprod -mcpu=cortex-a78ae", "NVIDIA Jetson Orin: Cortex-A78AE"),
    "pixel6": Board("aarch64-dotprod -mcpu=cortex-x1", "Google Pixel 6 and 7: Cortex-X1"),
    "pixel8": Board("aarch64-i8mm -mcpu=cortex-x3", "Google Pixel 8: Cortex-X3"),
    "graviton2": Board("aarch64-dotprod -mcpu=neoverse-n1", "AWS Graviton2: Neoverse N1"),
    "graviton3": Board("aarch64-i8mm -mcpu=neoverse-v1", "AWS Graviton3: Neoverse V1"),
    "graviton4": Board("aarch64-i8mm -mcpu=neoverse-v2", "AWS Graviton4: Neoverse V2"),
    "nano33ble": Board("cortex-m4", "Arduino Nano 33 BLE: nRF52840"),
    "stm32f4": Board("cortex-m4", "STM32F4"),
    "stm32h7": Board("cortex-m7", "STM32H7, its Cortex-M7"),
    "esp32": Board("c", "ESP32: Xtensa, C source for its own compiler"),
    "esp32s3": Board("c", "ESP32-S3: Xtensa, C source for its own compiler"),
    "esp32c3": Board("riscv32", "ESP32-C3: RISC-V"),
}
"""The boards by the name that ``parse_target`` takes, with options or without."""
