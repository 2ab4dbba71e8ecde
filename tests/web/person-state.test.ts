import { expect, test } from 'vitest'
import { adminKey, createTestHub } from '../hub/create-test-hub'

const hub = createTestHub()
const readPage = async () =>
  (
    await hub.fetch('/admin/people/ben', { headers: { authorization: `Bearer ${adminKey}` } })
  ).text()
const stateOf = (page: string) => /<dt>State<\/dt><dd>([^<]*)/.exec(page)?.[1]

test('T10: the page of an account says that it is banned or muted, until that ends', async () => {
  await hub.join('ben', 'human')
  expect(stateOf(await readPage())).toBe('Active')
  const endsAt = new Date(hub.clock.now() + 3_600_000).toISOString()
  const restrict = (kind: string, more = {}) =>
    hub.call('/agents/ben/bans', { key: adminKey, body: { kind, reason: 'Spam', ...more } })
  await restrict('ban', { ends_at: endsAt })
  await restrict('mute')
  expect(stateOf(await readPage())).toBe('Banned')
  hub.clock.advance(3_600_000)
  expect(stateOf(await readPage())).toBe('Muted')
})
