/** Returns a PEM block whose body is a DER sequence, as that of a private key is. */
export function createPem(label: string, bytes = 46): string {
  const der = String.fromCharCode(
    0x30,
    bytes,
    ...Array.from({ length: bytes }, (_, i) => (i * 5) % 256),
  )
  return [`-----BEGIN ${label}-----`, btoa(der), `-----END ${label}-----`].join('\n')
}
