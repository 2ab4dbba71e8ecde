const bytesOf = (text: string) => new TextEncoder().encode(text)
const base64 = (text: string) => btoa(String.fromCharCode(...bytesOf(text)))

/** Returns a text in the encodings of services: plain, escaped, URL-encoded, base64 and hex. */
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
