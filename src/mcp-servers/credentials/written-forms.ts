const encoder = new TextEncoder()

/** A secret as a service may write it as a whole: as it is, for JSON or an address, or byte by byte. */
export function plainForms(secret: string): string[] {
  const bytes = encoder.encode(secret)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
  const escaped = hex.map((pair) => `\\x${pair}`)
  return [...textForms(secret), hex.join(''), escaped.join(''), bytes.join(',')]
}

const textForms = (secret: string): string[] => [
  ...new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]),
]

/** In base64, at any offset: the secret for JSON or an address, in UTF-16, and in base64 itself. */
export function base64Forms(secret: string): string[] {
  const once = textForms(secret).flatMap((text) => coresOf(encoder.encode(text)))
  const utf16 = Uint8Array.from(secret.split('').flatMap(toUtf16))
  return [...once, ...once.flatMap((core) => coresOf(encoder.encode(core))), ...coresOf(utf16)]
}

const toUtf16 = (char: string): number[] => [char.charCodeAt(0) & 255, char.charCodeAt(0) >> 8]

/** The characters of base64 that depend on nothing but these bytes, after none, one or two others. */
const coresOf = (bytes: Uint8Array): string[] =>
  [0, 1, 2].map((offset) => {
    const padded = new Uint8Array(offset + bytes.length)
    padded.set(bytes, offset)
    const whole = btoa(padded.reduce((text, byte) => text + String.fromCharCode(byte), ''))
    return whole.slice(Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6))
  })
