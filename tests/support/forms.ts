const bytesOf = (text: string) => new TextEncoder().encode(text)
const base64 = (text: string) => btoa(String.fromCharCode(...bytesOf(text)))

/** A text as services write it: as it is, escaped, in an address, in base64 and in hex. */
export const formsOf = (secret: string): string[] => [
  `as ${secret} is`,
  JSON.stringify({ key: secret }),
  JSON.stringify(JSON.stringify({ key: secret })),
  encodeURIComponent(secret),
  encodeURIComponent(encodeURIComponent(secret)),
  new URLSearchParams({ key: secret }).toString(),
  base64(secret),
  base64(`user:${secret}:more`),
  base64(`x${secret}`).replaceAll('+', '-').replaceAll('/', '_'),
  Array.from(bytesOf(secret), (byte) => byte.toString(16).padStart(2, '0')).join(''),
]
