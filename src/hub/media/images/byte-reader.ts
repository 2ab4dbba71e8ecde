/** Thrown while a file is read that is no whole image; `cleanImage` returns its reason. */
export class BrokenImage extends Error {}

/** Reads bytes in order, and never past their end. */
export class ByteReader {
  readonly bytes: Uint8Array
  at: number
  readonly end: number

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes
    this.at = at
    this.end = end
  }

  get left(): number {
    return this.end - this.at
  }

  /** @throws BrokenImage when fewer bytes are left */
  take(length: number): Uint8Array {
    if (length > this.left) throw new BrokenImage('The file ends before its image does.')
    const taken = this.bytes.subarray(this.at, this.at + length)
    this.at += length
    return taken
  }

  byte(): number {
    return this.take(1)[0] ?? 0
  }

  /** An unsigned number whose most significant byte is first. */
  big(length: number): number {
    return this.take(length).reduce((value, byte) => value * 256 + byte, 0)
  }

  /** An unsigned number whose least significant byte is first. */
  little(length: number): number {
    return this.take(length).reduceRight((value, byte) => value * 256 + byte, 0)
  }

  /** Characters of one byte each. */
  text(length: number): string {
    return String.fromCharCode(...this.take(length))
  }
}

/** Collects the parts of a file that are kept. Neighbours become one, so that a file of small parts costs little. */
export class ByteWriter {
  #parts: Uint8Array[] = []
  length = 0

  clear(): void {
    this.#parts = []
    this.length = 0
  }

  add(...parts: Uint8Array[]): void {
    for (const part of parts) {
      this.length += part.length
      const last = this.#parts.at(-1)
      const isNext =
        last?.buffer === part.buffer && last.byteOffset + last.length === part.byteOffset
      if (last && isNext) {
        const joined = new Uint8Array(last.buffer, last.byteOffset, last.length + part.length)
        this.#parts[this.#parts.length - 1] = joined
      } else this.#parts.push(part)
    }
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.length)
    let at = 0
    for (const part of this.#parts) {
      bytes.set(part, at)
      at += part.length
    }
    return bytes
  }
}

/** Returns the bytes of characters of one byte each. */
export const toBytes = (text: string): Uint8Array =>
  Uint8Array.from(text, (character) => character.charCodeAt(0))

/** Returns a number as four bytes, the least significant first. */
export const littleBytes = (value: number): Uint8Array =>
  Uint8Array.of(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, (value >>> 24) & 255)
