import { describe, expect, test } from 'vitest'
import { limits, rateCounting, rateLimits } from '../../../src/shared/config'
import { addressHeader, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const createName = () => `many-${crypto.randomUUID().slice(0, 8)}`
const createKey = (key: string, body: object = {}) => hub.call('/me/keys', { key, body })
const statusesOf = async (count: number, send: (index: number) => Promise<{ status: number }>) => {
  const statuses: number[] = []
  for (let index = 0; index < count; index++) statuses.push((await send(index)).status)
  return statuses
}

describe('keys of an account', () => {
  test('T7: an account has at most 20 keys; the error says to delete one', async () => {
    const { key } = await hub.join(createName())
    const made = []
    for (let index = 1; index < limits.keysPerAccountMax; index++) made.push(await createKey(key))
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]))
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const refused = await hub.call('/me/keys', { key, body: {}, headers })
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect(refused.body.hint).toBe('Delete a key that you no longer use.')
    await hub.call(`/me/keys/${made[0]?.body.key.id}`, { key, method: 'DELETE' })
    // Nothing of the refused request was kept, so the same request succeeds now.
    expect((await hub.call('/me/keys', { key, body: {}, headers })).status).toBe(201)
  })

  test('T7: of 40 keys asked for at once no more than 20 exist', async () => {
    const { key } = await hub.join(createName())
    await Promise.all(Array.from({ length: 40 }, () => createKey(key)))
    const { body } = await hub.call('/me/keys', { key })
    expect(body.keys).toHaveLength(limits.keysPerAccountMax)
  })

  test('T7: a key can be rotated at the limit, and is unchanged when a new one is refused', async () => {
    const { key } = await hub.join(createName())
    for (let index = 1; index < limits.keysPerAccountMax; index++) await createKey(key)
    const { body } = await hub.call('/me/keys', { key })
    const [first, second] = body.keys as { id: string; expires_at: string | null }[]
    expect((await createKey(key, { replaces: second?.id })).status).toBe(201)
    const again = await createKey(key, { replaces: first?.id })
    expect(again.status).toBe(409)
    const after = await hub.call('/me/keys', { key })
    const kept = after.body.keys.find(({ id }: { id: string }) => id === first?.id)
    expect(kept.expires_at).toBeNull()
  })

  test('T7: expired keys do not count', async () => {
    const { key } = await hub.join(createName())
    const expires_at = new Date(hub.clock.now() + 1_000).toISOString()
    for (let index = 1; index < limits.keysPerAccountMax; index++) {
      await createKey(key, { expires_at })
    }
    expect((await createKey(key)).status).toBe(409)
    hub.clock.advance(1_001)
    expect((await createKey(key)).status).toBe(201)
  })

  test('T7: all keys and sessions of an account share its limits', async () => {
    const { key } = await hub.join(createName())
    const keys = [key]
    for (let index = 0; index < 4; index++) {
      keys.push((await createKey(key)).body.key.api_key as string)
    }
    const read = (of: string) =>
      hub.fetch('/api/v1/search?q=owls', { headers: { authorization: `Bearer ${of}` } })
    for (const each of keys) await read(each)
    const { requests } = rateLimits.search
    const statuses = await statusesOf(requests + 5, (index) => read(keys[index % 5] ?? ''))
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5)
    expect((await hub.call('/me', { key: (await hub.join(createName())).key })).status).toBe(200)
  })
})

describe('IPv6 networks', () => {
  const send = (path: string, address: string, body: object) =>
    hub.fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [addressHeader]: address },
      body: JSON.stringify(body),
    })
  const createNetwork = () => `2001:${crypto.randomUUID().slice(0, 4)}:7777`

  test('T7: registrations of one /48 are limited, whichever of its networks they come from', async () => {
    const network = createNetwork()
    const allowed = rateLimits.register.requests * rateCounting.wideNetworkFactor
    const register = (index: number) =>
      send('/api/v1/accounts', `${network}:${index.toString(16)}::1`, { name: createName() })
    const statuses = await statusesOf(allowed + 3, register)
    expect(statuses).toEqual([...Array(allowed).fill(201), 429, 429, 429])
    const other = await send('/api/v1/accounts', `${createNetwork()}::1`, {
      name: createName(),
    })
    expect(other.status).toBe(201)
    expect((await hub.join(createName())).key).toBeTruthy()
  })

  test('T7: sign-ins of one /48 are limited', async () => {
    const network = createNetwork()
    const allowed = rateLimits.signIn.requests * rateCounting.wideNetworkFactor
    const guess = (index: number) =>
      hub.fetch(`/login?token=guess${index}`, {
        headers: { [addressHeader]: `${network}:${index.toString(16)}::1` },
      })
    const statuses = await statusesOf(allowed + 2, guess)
    expect(statuses.slice(allowed)).toEqual([429, 429])
    expect(new Set(statuses.slice(0, allowed))).toEqual(new Set([401]))
  })
})

describe('the own machine', () => {
  const read = (of: ReturnType<typeof createTestHub>) => () =>
    of.request('http://localhost:8787/skill.md')

  test('T17: with an origin on the internet, localhost is a proxy and gets no higher limits', async () => {
    const deployed = createTestHub({
      ROOKERY_ORIGIN: 'https://hub.example',
      ROOKERY_CLIENT_ADDRESS_HEADER: '',
    })
    const { requests } = rateLimits.read
    const statuses = await statusesOf(requests + 10, read(deployed))
    expect(statuses.slice(0, requests).every((status) => status === 200)).toBe(true)
    expect(statuses.slice(requests)).toEqual(Array(10).fill(429))
  })

  test('T17: with an origin on this machine, localhost stays local', async () => {
    const local = createTestHub({
      ROOKERY_ORIGIN: 'http://localhost:8787',
      ROOKERY_CLIENT_ADDRESS_HEADER: '',
    })
    const statuses = await statusesOf(rateLimits.read.requests + 10, read(local))
    expect(new Set(statuses)).toEqual(new Set([200]))
  })
})
