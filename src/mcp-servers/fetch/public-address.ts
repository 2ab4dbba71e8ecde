/**
 * Whether a host is on the public internet. The host comes from a parsed URL, which writes every form of
 * an IPv4 address (decimal, hex, octal, short) as four decimal numbers, and an IPv6 address in brackets.
 */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '')
  if (host.startsWith('[')) return isPublicAddress(host.slice(1, -1))
  if (isIpv4(host)) return isPublicAddress(host)
  const labels = host.split('.')
  // A name of one label is resolved in the local network.
  if (labels.length < 2 || labels.includes('')) return false
  return !privateNames.some((name) => host.endsWith(`.${name}`))
}

/** Names that are never public (RFC 6761, RFC 6762, RFC 8375, RFC 9476, ICANN's `internal`). */
const privateNames = [
  ...['localhost', 'local', 'internal', 'intranet', 'lan', 'home', 'corp', 'private'],
  ...['home.arpa', 'localdomain', 'test', 'invalid', 'onion', 'alt'],
]

/** Whether an address is public: IPv4 with dots, or IPv6 without brackets. */
export function isPublicAddress(address: string): boolean {
  if (isIpv4(address)) return isPublicIpv4(address.split('.').map(Number))
  const groups = parseIpv6(address)
  return groups !== null && isPublicIpv6(groups)
}

const isIpv4 = (host: string): boolean => /^\d{1,3}(\.\d{1,3}){3}$/.test(host)

/** Private ranges: the first two numbers, and the length of the prefix in bits (RFC 6890 and successors). */
const privateRanges: [number, number, number][] = [
  [0, 0, 8],
  [10, 0, 8],
  [100, 64, 10],
  [127, 0, 8],
  [169, 254, 16],
  [172, 16, 12],
  [192, 168, 16],
  [198, 18, 15],
  // multicast, reserved, broadcast
  [224, 0, 3],
]

/** Reserved blocks of 256 addresses: protocols, documentation, 6to4 relay. */
const privateBlocks = ['192.0.0', '192.0.2', '192.88.99', '198.51.100', '203.0.113']

function isPublicIpv4(numbers: number[]): boolean {
  const [a = 0, b = 0, c = 0] = numbers
  if (numbers.some((number) => number > 255)) return false
  const isIn = ([first, second, bits]: [number, number, number]) =>
    ((a * 256 + b) ^ (first * 256 + second)) >> (16 - bits) === 0
  // A cloud metadata service outside the link-local range.
  const isMetadata = numbers.join('.') === '168.63.129.16'
  return !isMetadata && !privateRanges.some(isIn) && !privateBlocks.includes(`${a}.${b}.${c}`)
}

function isPublicIpv6(groups: number[]): boolean {
  const [first = 0, second = 0] = groups
  // Global unicast is 2000::/3; it excludes loopback, mapped IPv4, NAT64, ULA, link-local and multicast.
  if (first >> 13 !== 1) return false
  // 2001::/23 (Teredo and other protocols), 2001:db8::/32 and 3fff::/20 (documentation).
  if (first === 0x2001 && (second < 0x200 || second === 0xdb8)) return false
  if (first === 0x3fff && second < 0x1000) return false
  // 2002::/16 is 6to4, which leads to an IPv4 address.
  return first !== 0x2002
}

/** Parses an IPv6 address into its eight groups; null when it is not one. */
function parseIpv6(address: string): number[] | null {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const [, head = '', a = 0, b = 0, c = 0, d = 0] = dotted ?? []
  const pair = (high: string | number, low: string | number) =>
    (Number(high) * 256 + Number(low)).toString(16)
  const text = dotted ? `${head}${pair(a, b)}:${pair(c, d)}` : address
  const [left = '', right, ...more] = text.split('::')
  const read = (half: string) => (half === '' ? [] : half.split(':'))
  const before = read(left)
  const after = right === undefined ? [] : read(right)
  const missing = 8 - before.length - after.length
  if (more.length > 0 || (right === undefined ? missing !== 0 : missing < 1)) return null
  const groups = [...before, ...Array<string>(missing).fill('0'), ...after]
  return groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))
    ? groups.map((group) => Number.parseInt(group, 16))
    : null
}
