import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let ant: Account
let outsider: Account

const sql = (text: string, ...values: unknown[]) =>
  env.DB.prepare(text)
    .bind(...values)
    .run()

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  outsider = await hub.join('outsider')
  for (const name of ['piet', 'tilda']) await hub.join(name, 'human')
  ant = await hub.join('ant')
  await hub.host(ant.id)
  for (const name of ['scout', 'archivist', 'silent']) {
    await hub.host((await hub.join(name)).id)
  }
  await sql('UPDATE agents SET name = (SELECT name FROM accounts WHERE id = account_id)')
  await sql(
    "UPDATE agents SET answers_mentions = 0 WHERE account_id = (SELECT id FROM accounts WHERE name = 'silent')",
  )
  await sql(
    `INSERT INTO accounts (id, name, kind, is_imported, created_at) VALUES ('imported-1', 'olden', 'human', 1, 0)`,
  )
  await hub.call('/communities', {
    key: mira.key,
    body: { name: 'cellar', visibility: 'private' },
  })
})

beforeEach(() => hub.clock.advance(3_600_000))

const send = (content: string, { as = mira, headers = {}, community = 'general' } = {}) =>
  hub.call('/posts', {
    key: as.key,
    body: { community, title: 'A question', content },
    headers,
  })

describe('H4: a write says which mentioned names reached nobody', () => {
  test.each<[string, string, [string, RegExp][]]>([
    ['people and agents that are reached', '@piet @scout @outsider look', []],
    ['no mention', 'look', []],
    ['a name in code, a quote or an address', '`@nobody1` me@nobody2.example\n\n> @nobody3', []],
    ['an unknown name', '@zzyzx look', [['zzyzx', /^There is no account named zzyzx\. Check/]]],
    ['a misspelt agent', '@scuot look', [['scuot', /Did you mean @scout\?$/]]],
    ['a misspelt agent with a wrong first letter', '@acout', [['acout', /mean @scout\?$/]]],
    ['a misspelt person', '@Tillda look', [['tillda', /Did you mean @tilda\?$/]]],
    ['the author', '@mira look', [['mira', /your own mentions/]]],
    ['the hub itself', '@rookery look', [['rookery', /of the hub itself/]]],
    ['an imported account', '@olden look', [['olden', /was imported/]]],
    ['mentions that are off', '@silent look', [['silent', /off in the definition of silent/]]],
    [
      'several names in their order, each once',
      '@zzyzx @piet @mira @ZZYZX',
      [
        ['zzyzx', /no account/],
        ['mira', /your own/],
      ],
    ],
  ])('H4: %s', async (_, content, expected) => {
    const { status, body } = await send(content)
    expect(status).toBe(201)
    expect(body.not_woken).toEqual(
      expected.map(([name, reason]) => ({ name, reason: expect.stringMatching(reason) })),
    )
    const comment = await hub.call(`/posts/${body.post.id}/comments`, {
      key: mira.key,
      body: { content },
    })
    expect(comment.body.not_woken).toEqual(body.not_woken)
  })

  test('H4: an imported, disabled or system account is never proposed', async () => {
    await sql("UPDATE accounts SET disabled_at = 1 WHERE name = 'tilda'")
    for (const name of ['oldenn', 'tillda', 'rookeryy']) {
      const { body } = await send(`@${name} look`)
      expect(body.not_woken).toEqual([
        { name, reason: `There is no account named ${name}. Check the name.` },
      ])
    }
    expect((await send('@tilda look')).body.not_woken).toEqual([
      { name: 'tilda', reason: expect.stringMatching(/disabled/) },
    ])
    await sql("UPDATE accounts SET disabled_at = NULL WHERE name = 'tilda'")
  })

  test('H4: names of the eleventh account on, of the first thirty names', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `crowd-${n}`)
    for (const name of names) await hub.join(name, 'human')
    const { body } = await send(['@nobody9', ...names.map((name) => `@${name}`)].join(' '))
    expect(body.not_woken).toEqual([
      { name: 'nobody9', reason: expect.stringMatching(/no account/) },
      ...['crowd-10', 'crowd-11'].map((name) => ({
        name,
        reason: expect.stringMatching(/first 10/),
      })),
    ])
    const unknown = Array.from({ length: 40 }, (_, n) => `@unknown-${n}-of-forty`)
    expect((await send(unknown.join(' '))).body.not_woken).toHaveLength(30)
  })

  test('H4: paused agents, one or all, and an agent whose account is banned', async () => {
    const reasonOf = async () => (await send('@ant @piet look')).body.not_woken
    await hub.call('/agents/ant/pause', { key: adminKey, method: 'POST' })
    expect(await reasonOf()).toEqual([{ name: 'ant', reason: 'ant is paused by an admin.' }])
    await hub.call('/agents/ant/resume', { key: adminKey, method: 'POST' })
    await hub.call('/system/pause', { key: adminKey, method: 'POST' })
    expect(await reasonOf()).toEqual([
      { name: 'ant', reason: 'All agents are paused by an admin.' },
    ])
    await hub.call('/system/resume', { key: adminKey, method: 'POST' })
    expect(await reasonOf()).toEqual([])
    await sql('UPDATE accounts SET disabled_at = 1 WHERE id = ?', ant.id)
    expect(await reasonOf()).toEqual([
      { name: 'ant', reason: expect.stringMatching(/disabled, banned or muted/) },
    ])
    await sql('UPDATE accounts SET disabled_at = NULL WHERE id = ?', ant.id)
  })

  test('H11: a reply limit is the reason for an agent that writes', async () => {
    await sql('UPDATE communities SET hop_limit = 0')
    const { body } = await send('@ant @piet @zzyzx look', { as: outsider })
    await sql('UPDATE communities SET hop_limit = NULL')
    expect(body.not_woken).toEqual([
      { name: 'ant', reason: expect.stringMatching(/^Reply limit reached: .*at most 0 times/) },
      { name: 'zzyzx', reason: expect.stringMatching(/no account/) },
    ])
  })

  test('T21: whoever does not read the community is named with that reason, to a member only', async () => {
    const posted = await send('@piet @scout @zzyzx look', { community: 'cellar' })
    expect(posted.body.not_woken).toEqual([
      { name: 'piet', reason: expect.stringMatching(/does not read this community/) },
      { name: 'scout', reason: expect.stringMatching(/does not read this community/) },
      { name: 'zzyzx', reason: expect.stringMatching(/no account/) },
    ])
    const refused = await send('@piet look', { community: 'cellar', as: outsider })
    expect([refused.status, refused.body.not_woken]).toEqual([404, undefined])
  })

  test('H6: a retried request names them again, and they stay plain text', async () => {
    const headers = { 'idempotency-key': 'not-woken-1' }
    const first = await send('@scuot @mira', { headers })
    const again = await send('@scuot @mira', { headers })
    expect(again.headers.get('idempotent-replay')).toBe('true')
    expect(again.body).toEqual(first.body)
    const page = await (await hub.fetch(`/p/${first.body.post.id}`)).text()
    expect(page).not.toContain('href="/a/scuot"')
    const target = { key: mira.key, headers: { 'idempotency-key': 'not-woken-2' } }
    const path = `/posts/${first.body.post.id}/comments`
    const comment = { ...target, body: { content: '@scuot again' } }
    const told = await hub.call(path, comment)
    expect(told.body.not_woken).toHaveLength(1)
    expect((await hub.call(path, comment)).body.not_woken).toEqual(told.body.not_woken)
  })

  test('H20: the reasons cost no round trip', async () => {
    await send('the first request of an hour notes that the key was used')
    const plain = readCost((await send('look')).headers)
    const told = readCost((await send('@scuot @zzyzx @mira look')).headers)
    expect(told.roundTrips).toBe(plain.roundTrips)
  })
})
