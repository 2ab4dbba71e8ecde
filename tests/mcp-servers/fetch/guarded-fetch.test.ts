import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { toHost } from '../../../src/mcp-servers/fetch/check-url'
import { createGuardedFetch } from '../../../src/mcp-servers/fetch/guarded-fetch'
import { createResolver } from '../../../src/mcp-servers/fetch/resolve-over-https'
import { outside } from '../../../src/shared/config'

const service = (env as unknown as { FAKE_SERVICE_URL: string }).FAKE_SERVICE_URL

type Options = Partial<Parameters<typeof createGuardedFetch>[0]>

/** A real server on this machine, as a service that may be there. */
const ask = (path: string, options: Options = {}, request: RequestInit = {}) => {
  const url = new URL(path, service)
  const guarded = createGuardedFetch({
    service: 'weather',
    reach: { hosts: [toHost(new URL(service))], allowHttp: true, allowPrivate: true },
    hasCredential: false,
    signal: new AbortController().signal,
    timeoutMs: 2_000,
    ...options,
  })
  return guarded({
    method: request.method ?? 'GET',
    url,
    headers: { authorization: 'Bearer anybody', 'content-type': 'text/plain' },
    ...(typeof request.body === 'string' && { body: request.body }),
  })
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('redirects', () => {
  test('M13: are followed on the same host, and the answer is that of the last', async () => {
    const answer = await ask('/moved', { hasCredential: true })
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('You are anybody')
  })

  test('M13: never lead to another host with a credential', async () => {
    const fetched = vi.spyOn(globalThis, 'fetch')
    await expect(ask('/gone', { hasCredential: true })).rejects.toThrow(
      /redirects to another host, which must not receive the credential/,
    )
    expect(fetched).toHaveBeenCalledTimes(1)
  })

  test('M13: never lead to a host or an address that may not be asked, even without a credential', async () => {
    const fetched = vi.spyOn(globalThis, 'fetch')
    await expect(ask('/gone')).rejects.toThrow(/not among the service's hosts/)
    const reach = { hosts: [toHost(new URL(service)), '169.254.169.254'], allowHttp: true }
    fetched.mockResolvedValueOnce(
      new Response(null, { status: 302, headers: { location: 'http://169.254.169.254/latest/' } }),
    )
    const hosts = [...reach.hosts, 'api.example.com']
    const guarded = createGuardedFetch({
      service: 'weather',
      reach: { hosts, allowHttp: true, allowPrivate: false },
      hasCredential: false,
      signal: new AbortController().signal,
    })
    await expect(
      guarded({ method: 'GET', url: new URL('https://api.example.com/'), headers: {} }),
    ).rejects.toThrow(/169\.254\.169\.254 is not on the public internet/)
    expect(fetched).toHaveBeenCalledTimes(2)
  })

  test('M13: end after five', async () => {
    const fetched = vi.spyOn(globalThis, 'fetch')
    await expect(ask('/circle')).rejects.toThrow(/redirects more than 5 times/)
    expect(fetched).toHaveBeenCalledTimes(outside.redirectsMax + 1)
  })

  test('M13: 303 turns a write into a read, 307 repeats it', async () => {
    const see = await ask('/see', {}, { method: 'POST', body: 'x' })
    expect(JSON.parse(see.text ?? '')).toEqual({ method: 'GET', type: null })
    const again = await ask('/again', {}, { method: 'POST', body: 'x' })
    expect(JSON.parse(again.text ?? '')).toEqual({ method: 'POST', type: 'text/plain' })
  })
})

describe('bounds', () => {
  test('M13: at most 1 MiB is read', async () => {
    const answer = await ask('/long')
    expect(answer).toMatchObject({ isTruncated: true, bytes: outside.bodyBytesMax })
    expect(answer.text?.length).toBe(outside.bodyBytesMax)
  })

  test('M14: a service that is silent, or stops in the middle, is left after the time', async () => {
    for (const path of ['/silent', '/slow']) {
      await expect(ask(path, { timeoutMs: 60 })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: 'The service weather timed out after 0.06 s.',
      })
    }
  })

  test('M14: a reset connection is an error that says so', async () => {
    for (const path of ['/reset', '/cut']) {
      await expect(ask(path)).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: 'The service weather could not be reached, or the connection broke.',
      })
    }
  })

  test('M13: what is no UTF-8 text is not shown as text', async () => {
    expect((await ask('/utf16')).text).toBeNull()
  })
})

describe('with a resolver', () => {
  const named = (addresses: string[]) => {
    const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response('ok'))
    const guarded = createGuardedFetch({
      service: 'weather',
      reach: { hosts: ['api.example.com'], allowHttp: false, allowPrivate: false },
      hasCredential: true,
      signal: new AbortController().signal,
      resolve: async () => addresses,
    })
    const url = new URL('https://api.example.com/')
    return { answer: guarded({ method: 'GET', url, headers: {} }), fetched }
  }

  test.each([
    [['10.0.0.7']],
    [['93.184.215.14', '127.0.0.1']],
    [['::ffff:169.254.169.254']],
    [['fd00::1']],
    [[]],
  ])('M13: a name with the addresses %j is refused before anything is sent', async (addresses) => {
    const { answer, fetched } = named(addresses)
    await expect(answer).rejects.toThrow(/api\.example\.com has no public address/)
    expect(fetched).not.toHaveBeenCalled()
  })

  test.each([
    ['another host', 'https://inside.example.com/'],
    ['the same host, whose address has changed', 'https://api.example.com/again'],
  ])('M13: a redirect to %s is resolved too, and a private address is not asked', async (_, to) => {
    const fetched = vi
      .spyOn(globalThis, 'fetch')
      .mockImplementation(
        async () => new Response(null, { status: 302, headers: { location: to } }),
      )
    const hosts = ['api.example.com', 'inside.example.com']
    const resolved: string[] = []
    const guarded = createGuardedFetch({
      service: 'weather',
      reach: { hosts, allowHttp: false, allowPrivate: false },
      hasCredential: false,
      signal: new AbortController().signal,
      resolve: async (hostname) => [resolved.push(hostname) === 1 ? '93.184.215.14' : '10.0.0.7'],
    })
    const { hostname } = new URL(to)
    await expect(
      guarded({ method: 'GET', url: new URL('https://api.example.com/'), headers: {} }),
    ).rejects.toThrow(`${hostname} has no public address`)
    expect(resolved).toEqual(['api.example.com', hostname])
    expect(fetched).toHaveBeenCalledTimes(1)
  })

  test('M13: a name with public addresses only is asked', async () => {
    const { answer, fetched } = named(['93.184.215.14', '2606:4700::1'])
    expect((await answer).text).toBe('ok')
    expect(fetched).toHaveBeenCalledTimes(1)
  })

  test('M13: the resolver asks for both kinds of addresses and leaves out aliases', async () => {
    const asked: string[] = []
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input) => {
      const { searchParams } = new URL(String(input))
      asked.push(`${searchParams.get('name')} ${searchParams.get('type')}`)
      const four = {
        Answer: [
          { type: 5, data: 'x.example.net.' },
          { type: 1, data: '10.0.0.7' },
        ],
      }
      return Response.json(searchParams.get('type') === '1' ? four : { Status: 0 })
    })
    const resolve = createResolver('https://dns.example.com/dns-query')
    const { signal } = new AbortController()
    expect(await resolve('api.example.com', signal)).toEqual(['10.0.0.7'])
    expect(asked).toEqual(['api.example.com 1', 'api.example.com 28'])
    expect(await resolve('[2606:4700::1]', signal)).toEqual(['2606:4700::1'])
    expect(asked).toHaveLength(2)
  })
})
