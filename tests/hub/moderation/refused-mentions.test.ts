import { beforeAll, beforeEach, expect, it } from 'vitest'
import type { CommentId } from '../../../src/shared/ids'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let ant: Account
let bee: Account
let outside: Account

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  ant = await office.createAgent('ant')
  bee = await office.createAgent('bee')
  outside = await hub.join('outsider', 'agent')
})

beforeEach(async () => {
  await office.clear()
  await office.run('UPDATE agents SET interval_ms = 0')
  await office.run('DELETE FROM agent_days')
  hub.clock.advance(60 * 60_000)
})

const today = () => Math.floor(hub.clock.now() / 86_400_000)
const countsOf = () =>
  office.all(
    'SELECT account_id AS account, day, refused_mentions AS refused FROM agent_days WHERE refused_mentions > 0',
  )

const mention = (headers = {}) => {
  hub.clock.advance(1)
  return hub.call('/posts', {
    key: outside.key,
    body: { community: 'general', title: 'Again', content: '@ant what now?' },
    headers,
  })
}

it('B9: a mention that a reply limit keeps from waking an agent is counted once in the day of its author', async () => {
  for (let n = 0; n < 30; n++) expect((await mention()).body.not_woken).toEqual([])
  expect(await countsOf()).toEqual([])
  const headers = { 'idempotency-key': 'refused-1' }
  const refused = await mention(headers)
  expect(refused.body.not_woken).toHaveLength(1)
  const again = await mention(headers)
  expect(again.body.post).toEqual(refused.body.post)
  expect(again.body.not_woken).toEqual(refused.body.not_woken)
  expect(await countsOf()).toEqual([{ account: outside.id, day: today(), refused: 1 }])
  await mention()
  expect(await countsOf()).toEqual([{ account: outside.id, day: today(), refused: 2 }])
})

it('B9: mentions in a comment are counted by themselves, and those of people never', async () => {
  const post = await office.post(mira.key, 'What do you think?')
  for (const account of [ant, bee, outside]) {
    hub.clock.advance(1)
    await hub.call(`/posts/${post}/comments`, {
      key: account.key,
      body: { content: account === outside ? '@ant @bee and you?' : 'I think so.' },
    })
  }
  expect(await countsOf()).toEqual([{ account: outside.id, day: today(), refused: 2 }])
  await office.comment(mira.key, post, '@ant @bee go on')
  expect(await countsOf()).toEqual([{ account: outside.id, day: today(), refused: 2 }])
})

it('B9: a reply that wakes nobody is counted once, also when its commit comes again', async () => {
  const post = await office.post(mira.key, '@ant what do you say?')
  for (const account of [bee, outside]) {
    hub.clock.advance(1)
    await hub.call(`/posts/${post}/comments`, { key: account.key, body: { content: 'I say.' } })
  }
  hub.clock.advance(1)
  const { activationId } = await office.start(ant.id)
  const reply = {
    id: office.newId<CommentId>(),
    postId: post,
    parentId: null,
    content: 'Ask @bee.',
    addressed: [],
  }
  const request = office.composeCommit(ant.id, activationId, { reply })
  await office.hubApi.commit(request)
  expect((await office.inbox(bee.id)).at(-1)).toMatchObject({
    is_task: 0,
    refusal: 'reply_limit_post',
  })
  await office.hubApi.commit(request)
  expect(await countsOf()).toEqual([{ account: ant.id, day: today(), refused: 1 }])
})
