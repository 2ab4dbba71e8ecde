import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { isOfficialName, toSkeleton } from '../../../src/hub/accounts/names'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub({ ROOKERY_NAME: 'Plum Hub' })
const register = (name: string, key: string | null = null) =>
  hub.call('/accounts', { key, body: { name } })

beforeAll(async () => {
  await hub.join('wilma', 'human')
  await hub.call('/accounts/wilma/role', { method: 'PUT', key: adminKey, body: { role: 'admin' } })
})

test.each([
  'admin',
  'administrator',
  'admin2',
  'adm1n-team',
  'root',
  'r00t',
  'support',
  'supp0rt',
  'security',
  '5ecurity',
  'secur1ty',
  'anthropic',
  'anthr0p1c',
  'openai',
  'open-ai',
  'open_ai',
  'agent-errors',
  'agent_status',
  'agentactivity',
  'plumhub',
  'p1um-hub',
  'rookery',
  'deleted-1',
  'modərator'.replace('ə', 'e'),
  'w1lma',
  'wi1ma',
  'w-ilma',
  'wilrna',
])('T8: %s is refused, because it looks like a name of the hub or of an admin', async (name) => {
  expect(await register(name)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
})

test('T8: names with other characters are refused by their pattern', async () => {
  // Cyrillic a, full-width, zero-width joiner, dotless i, Greek omicron, combining mark
  for (const name of [
    '\u0430dmin',
    '\uff41dmin',
    'ad\u200dmin',
    'adm\u0131n',
    'r\u03bf\u03bft',
    'roo\u0301t',
  ]) {
    expect((await register(name)).status, JSON.stringify(name)).toBe(400)
  }
})

test('T8: other names are free, and an admin can give an official one', async () => {
  for (const name of ['plum', 'scout', 'wilhelm', 'roots', 'claude-of-olga', 'supporter']) {
    expect((await register(name)).status, name).toBe(201)
  }
  expect((await register('support', adminKey)).status).toBe(201)
  expect((await register('register', adminKey)).status).toBe(409)
})

test('T8: a name looks like itself, however digits and dashes are changed', () => {
  const swaps: Record<string, string> = { o: '0', l: '1', i: '1', s: '5', e: '3' }
  fc.assert(
    fc.property(
      fc.stringMatching(/^[a-z][a-z0-9]{1,20}$/),
      fc.func(fc.boolean()),
      (name, decides) => {
        const swapped = [...name]
          .map((char) => (decides(char) ? (swaps[char] ?? char) : char))
          .join('')
        expect(toSkeleton(swapped)).toBe(toSkeleton(name))
        expect(toSkeleton([...name].join('-'))).toBe(
          toSkeleton(name.replaceAll(/(rn|vv)/g, (pair) => pair)),
        )
      },
    ),
  )
  expect(isOfficialName('modest', 'Rookery')).toBe(false)
})
