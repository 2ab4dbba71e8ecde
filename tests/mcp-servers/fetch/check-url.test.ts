import { describe, expect, test } from 'vitest'
import {
  checkUrl,
  isPublicAddress,
  type Reach,
  toHost,
} from '../../../src/mcp-servers/fetch/check-url'

/** Everything that the address itself allows: only what is wrong with it is refused. */
const reachOf = (address: string, more: Partial<Reach> = {}): Reach => ({
  hosts: [toHost(new URL(address))],
  allowHttp: false,
  allowPrivate: false,
  ...more,
})
const check = (address: string, more?: Partial<Reach>) =>
  checkUrl(new URL(address), reachOf(address, more))

describe('addresses that are never asked', () => {
  test.each([
    ['loopback', 'https://127.0.0.1/'],
    ['loopback, another', 'https://127.8.9.1/'],
    ['loopback in decimal', 'https://2130706433/'],
    ['loopback in hex', 'https://0x7f000001/'],
    ['loopback in hex parts', 'https://0x7f.0x0.0x0.0x1/'],
    ['loopback in octal', 'https://0177.0.0.1/'],
    ['loopback in long octal', 'https://017700000001/'],
    ['loopback, short', 'https://127.1/'],
    ['loopback, percent-encoded', 'https://%31%32%37.0.0.1/'],
    ['loopback in wide digits', 'https://１２７.０.０.１/'],
    ['loopback with a dot at the end', 'https://127.0.0.1./'],
    ['zero', 'https://0/'],
    ['this network', 'https://0.1.2.3/'],
    ['private 10', 'https://10.1.2.3/'],
    ['private 172.16', 'https://172.16.0.1/'],
    ['private 172.31', 'https://172.31.255.255/'],
    ['private 192.168', 'https://192.168.1.1/'],
    ['private 192.168, short', 'https://192.168.257/'],
    ['shared (CGNAT)', 'https://100.64.0.1/'],
    ['shared, the last', 'https://100.127.255.255/'],
    ['link-local', 'https://169.254.1.1/'],
    ['metadata', 'https://169.254.169.254/latest/meta-data/'],
    ['metadata in decimal', 'https://2852039166/'],
    ['metadata of Azure', 'https://168.63.129.16/'],
    ['metadata of Alibaba', 'https://100.100.100.200/'],
    ['metadata by name', 'https://metadata.google.internal/'],
    ['benchmarks', 'https://198.19.0.1/'],
    ['documentation', 'https://203.0.113.7/'],
    ['multicast', 'https://224.0.0.1/'],
    ['reserved', 'https://240.0.0.1/'],
    ['broadcast', 'https://255.255.255.255/'],
    ['IPv6 loopback', 'https://[::1]/'],
    ['IPv6 loopback in full', 'https://[0:0:0:0:0:0:0:1]/'],
    ['IPv6 unspecified', 'https://[::]/'],
    ['IPv4 mapped', 'https://[::ffff:127.0.0.1]/'],
    ['IPv4 mapped in hex', 'https://[::ffff:7f00:1]/'],
    ['IPv4 mapped, public', 'https://[::ffff:8.8.8.8]/'],
    ['IPv4 compatible', 'https://[::127.0.0.1]/'],
    ['NAT64', 'https://[64:ff9b::7f00:1]/'],
    ['6to4', 'https://[2002:7f00:1::]/'],
    ['Teredo', 'https://[2001:0:7f00:1::]/'],
    ['IPv6 documentation', 'https://[2001:db8::1]/'],
    ['IPv6 documentation, new', 'https://[3fff:1::1]/'],
    ['unique local', 'https://[fc00::1]/'],
    ['unique local, metadata of AWS', 'https://[fd00:ec2::254]/'],
    ['IPv6 link-local', 'https://[fe80::1]/'],
    ['IPv6 multicast', 'https://[ff02::1]/'],
    ['localhost', 'https://localhost/'],
    ['LOCALHOST.', 'https://LOCALHOST./'],
    ['below localhost', 'https://a.localhost/'],
    ['local', 'https://printer.local/'],
    ['internal', 'https://vault.internal/'],
    ['home network', 'https://nas.home.arpa/'],
    ['one label', 'https://intranet/'],
    ['one label with a dot', 'https://intranet./'],
  ])('M13: %s', (_what, address) => {
    expect(check(address)).toMatch(/is not on the public internet$/)
    expect(check(address, { allowPrivate: true })).toBeNull()
  })

  test.each([
    ['http', 'http://api.example.com/'],
    ['ftp', 'ftp://api.example.com/'],
    ['data', 'data:text/plain,hello'],
    ['file', 'file:///etc/passwd'],
  ])('M13: %s', (_what, address) => {
    expect(check(address)).toBe('only https is allowed')
  })

  test('M13: a password or a name in the address', () => {
    for (const address of ['https://a:b@api.example.com/', 'https://token@api.example.com/']) {
      expect(check(address)).toBe('a URL must not contain a password')
    }
  })

  test('M13: a host or a port that is not on the list of the service', () => {
    const reach = reachOf('https://api.example.com/')
    const refused = (address: string) => checkUrl(new URL(address), reach)
    expect(refused('https://api.example.com/any/path?q=1')).toBeNull()
    expect(refused('https://api.example.com:443/')).toBeNull()
    expect(refused('https://API.example.com./')).toBeNull()
    for (const other of [
      'https://api.example.com:8443/',
      'https://api.example.com:22/',
      'https://example.com/',
      'https://api.example.com.evil.example.org/',
      'https://evil.example.org/?api.example.com',
      'https://xapi.example.com/',
    ]) {
      expect(refused(other), other).toMatch(/is not among the service's hosts$/)
    }
  })
})

test('M13: http only where the service says so, and public addresses pass', () => {
  expect(check('http://api.example.com/', { allowHttp: true })).toBeNull()
  for (const address of [
    'https://8.8.8.8/',
    'https://172.32.0.1/',
    'https://172.15.0.1/',
    'https://100.63.0.1/',
    'https://100.128.0.1/',
    'https://169.253.0.1/',
    'https://[2606:4700:4700::1111]/',
    'https://api.example.com:8443/',
    'https://localhost.example.com/',
  ]) {
    expect(check(address), address).toBeNull()
  }
})

test('M13: what a resolver answers is judged in any form', () => {
  for (const address of ['127.0.0.1', '::1', '::ffff:10.0.0.1', 'fe80::1%eth0', 'nonsense', '']) {
    expect(isPublicAddress(address), address).toBe(false)
  }
  expect(isPublicAddress('1.1.1.1')).toBe(true)
  expect(isPublicAddress('2606:4700::6810:84e5')).toBe(true)
})
