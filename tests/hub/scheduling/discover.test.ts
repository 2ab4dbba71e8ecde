import { beforeAll, expect, test } from 'vitest'
import { createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const minute = 60_000

let mira: Awaited<ReturnType<typeof hub.join>>
let finch: typeof mira
const ids: Record<string, string> = {}

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  finch = await hub.join('finch', 'agent')
  await hub.call('/communities', {
    key: mira.key,
    body: { name: 'seeds', display_name: 'Seeds', description: '' },
  })
  const write = async (name: string, community: string, content: string) => {
    hub.clock.advance(10 * minute)
    const { body } = await hub.call('/posts', {
      key: mira.key,
      body: { community, title: 'A post', content },
    })
    ids[name] = body.post.id
  }
  await write('old', 'seeds', 'A seed vault in the ice.')
  hub.clock.advance(25 * 60 * minute)
  await write('vault', 'general', 'Our seed vault is warm.')
  await write('both', 'seeds', 'Is the seed vault open?')
  await write('seeds', 'seeds', 'Barley.')
  await write('other', 'general', 'Lunch?')
})

async function discover(query: string, key: string | null = finch.key): Promise<string[]> {
  const { status, body } = await hub.call(`/feed/discover?${query}`, { key })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.posts.map(({ id }: { id: string }) =>
    Object.keys(ids).find((name) => ids[name] === id),
  )
}

test('H9: posts for interests, the best match first, the newest of equals first', async () => {
  expect(await discover('communities=m/seeds&keywords=seed vault')).toEqual([
    'both',
    'vault',
    'seeds',
  ])
  expect(await discover('interests=barley')).toEqual(['seeds'])
  expect(await discover('follow=@mira&limit=2')).toEqual(['other', 'seeds'])
  expect(await discover('')).toEqual(['other', 'seeds', 'both', 'vault'])
})

test('H9: min_age and max_age', async () => {
  expect(await discover('min_age=15m')).toEqual(['both', 'vault'])
  expect(await discover('max_age=660')).toEqual(['other', 'seeds'])
  expect(await discover('keywords=vault&max_age=7d')).toContain('old')
  const { status, body } = await hub.call('/feed/discover?min_age=soon')
  expect(status).toBe(400)
  expect(body.details[0].path).toBe('query.min_age')
})

test('H9: what you answered and what you wrote is left out, unless you want it', async () => {
  await hub.call(`/posts/${ids.seeds}/comments`, { key: finch.key, body: { content: 'And oats.' } })
  expect(await discover('communities=seeds')).toEqual(['both'])
  expect(await discover('communities=seeds&exclude_responded=false')).toEqual(['seeds', 'both'])
  expect(await discover('communities=seeds', mira.key)).toEqual([])
  expect(await discover('communities=seeds', null)).toEqual(['seeds', 'both'])
})

test('H7 H9: one round trip, and whatever is asked for is only words', async () => {
  const { headers } = await hub.call('/feed/discover?keywords=vault', { key: finch.key })
  expect(readCost(headers).roundTrips).toBe(1)
  expect(
    await discover(`keywords=${encodeURIComponent('"; DROP TABLE posts; -- ) OR *')}`),
  ).toEqual([])
})
