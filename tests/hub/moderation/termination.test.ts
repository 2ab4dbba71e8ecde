import * as fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import type { Actor } from '../../../src/hub/contract/hub'
import { replyLimits } from '../../../src/shared/config'
import type { CommentId, PostId } from '../../../src/shared/ids'
import { sample, sampleSize } from '../../support/sample'
import { createOffice, type ItemRow } from '../runs/create-office'

const office = createOffice()
const { hub } = office
type Account = Awaited<ReturnType<typeof hub.join>>
interface Member extends Account {
  isHosted: boolean
}

let mira: Account
let members: Member[]

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  members = []
  for (const name of ['ant', 'bee']) {
    members.push({ ...(await office.createAgent(name)), isHosted: true })
  }
  members.push({ ...(await hub.join('outsider')), isHosted: false })
  await office.run(
    'UPDATE agents SET interval_ms = 0, daily_posts_max = 10000, daily_comments_max = 10000',
  )
})

/** What an agent does whenever it is woken, or, outside, whenever an agent of the hub answers or mentions it. */
interface Habit {
  /** Where it writes besides its answer. */
  writes: 'nothing' | 'comment' | 'post'
  /** Indexes of the members that it mentions in that, and in the answer of its run. */
  mentions: number[]
  answerMentions: number[]
  /** Replies below what it read, or to the post. */
  isBelow: boolean
  pauseMs: number
}

const habit: fc.Arbitrary<Habit> = fc.record({
  writes: fc.constantFrom('nothing', 'comment', 'post', 'post'),
  mentions: fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 1 }),
  answerMentions: fc.uniqueArray(fc.nat(2), { maxLength: 1 }),
  isBelow: fc.boolean(),
  pauseMs: fc.constantFrom(1, 50, 5_000),
})

const naming = (self: Member, indexes: number[]): string =>
  indexes
    .map((index) => members[index])
    .filter((each) => each !== undefined && each !== self)
    .map((each) => `@${each?.name}`)
    .join(' ')

/** Writes as an agent; a limit that refuses the text is an answer too. */
async function write(self: Member, { writes, ...of }: Habit, item: ItemRow, actor: Actor) {
  const content = `${naming(self, of.mentions)} what now?`
  const parentId = of.isBelow ? (item.comment_id as CommentId | null) : null
  const work =
    writes === 'comment'
      ? office.hubApi.createComment(actor, { postId: item.post_id as PostId, parentId, content })
      : office.hubApi.createPost(actor, { community: 'general', title: 'On', content })
  await work.catch((error) => {
    if (error.code !== 'REPLY_LIMIT') throw error
  })
}

const actorOf = (self: Member, activationId: Actor['activationId']): Actor => ({
  accountId: self.id,
  name: self.name,
  kind: 'agent',
  activationId,
  postId: null,
  idempotencyKey: null,
})

const findOldest = (self: Account, condition: string) =>
  office.first<ItemRow>(
    `SELECT * FROM inbox_items WHERE account_id = ? AND read_at IS NULL AND ${condition}
     ORDER BY created_at, id LIMIT 1`,
    self.id,
  )
const isOpenTask = (item: ItemRow) => item.is_task === 1 && item.read_at === null

/** Runs a hosted agent on what waits for it; false when nothing waits. */
async function runHosted(self: Member, of: Habit): Promise<boolean> {
  const item = await findOldest(self, 'is_task = 1')
  if (!item) return false
  const { activationId } = await office.start(self.id)
  if (of.writes !== 'nothing') await write(self, of, item, actorOf(self, activationId))
  hub.clock.advance(of.pauseMs)
  const reply = {
    id: office.newId<CommentId>(),
    postId: item.post_id as PostId,
    addressed: [],
    parentId: item.comment_id as CommentId | null,
    content: `It is so. ${naming(self, of.answerMentions)}`,
  }
  await office.commit(self.id, activationId, { reply })
  return true
}

/** Lets an external agent react to the oldest item by an agent that it has not read. */
async function runOutside(self: Member, of: Habit): Promise<boolean> {
  const item = await findOldest(self, "post_id IS NOT NULL AND type <> 'system'")
  if (!item) return false
  await office.run('UPDATE inbox_items SET read_at = 1 WHERE id = ?', item.id)
  await write(
    self,
    of.writes === 'nothing' ? { ...of, writes: 'post' } : of,
    item,
    actorOf(self, null),
  )
  return true
}

/** Rounds of all members until nobody has anything to react to. */
async function settle(habits: Habit[], roundsMax: number): Promise<void> {
  for (let round = 0; round < roundsMax; round++) {
    let isBusy = false
    for (const [index, self] of members.entries()) {
      const of = habits[index] as Habit
      hub.clock.advance(of.pauseMs)
      isBusy = (await (self.isHosted ? runHosted : runOutside)(self, of)) || isBusy
    }
    if (!isBusy) return
  }
  throw new Error(`not settled after ${roundsMax} rounds: ${JSON.stringify(habits)}`)
}

/** Inbox items by which an agent woke an agent, of the current run of the property. */
const wakesSince = (since: number) =>
  office.all<{ to_id: string; from_id: string; at: number; hops: number; source: number }>(
    `SELECT i.account_id AS to_id, i.from_account_id AS from_id, i.created_at AS at, i.hops,
       coalesce(c.hops, p.hops) AS source
     FROM inbox_items i JOIN accounts f ON f.id = i.from_account_id AND f.kind = 'agent'
     LEFT JOIN comments c ON c.id = i.comment_id LEFT JOIN posts p ON p.id = i.post_id
     WHERE i.is_task = 1 AND i.created_at >= ?`,
    since,
  )

it('H11: whatever two or three agents write to each other ends without a person, and the words of a person begin it again', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(habit, habit, habit),
      fc.constantFrom(0, 1, 2),
      async (habits, first) => {
        await office.clear()
        hub.clock.advance(2 * replyLimits.callsWindowMs)
        const since = hub.clock.now()
        const names = members.map(({ name }) => `@${name}`).join(' ')
        // An agent outside begins, or a person does and leaves.
        const opener = first === 2 ? (members[2] as Member) : mira
        await office.post(opener.key, `${names} talk`)
        const outsideMax = 2 * replyLimits.callsOutsideMax
        await settle(habits, 40 * outsideMax)

        const wakes = await wakesSince(since)
        for (const { hops, source } of wakes) {
          expect(hops).toBe(source + 1)
          expect(hops).toBeLessThanOrEqual(replyLimits.defaults.hopLimit)
        }
        for (const to of members) {
          const calls = wakes.filter(
            (each) => each.to_id === to.id && each.from_id === members[2]?.id,
          )
          expect(calls.length).toBeLessThanOrEqual(replyLimits.callsOutsideMax)
        }

        await office.post(mira.key, `${names} go on`)
        const tasks = (await office.inbox(members[0]?.id as never)).filter(isOpenTask)
        expect(tasks).toHaveLength(1)
        const again = await office.post(members[2]?.key as string, `${names} go on`)
        const woken = (await office.inbox(members[0]?.id as never)).filter(isOpenTask)
        expect(woken.map(({ post_id }) => post_id)).toContain(again)
      },
    ),
    {
      numRuns: sampleSize(2, 4),
      examples: sample<[[Habit, Habit, Habit], number]>(
        [
          // All answer every call by a post that calls all others.
          [
            [0, 1, 2].map((self) => ({
              writes: 'post',
              answerMentions: [2],
              isBelow: false,
              pauseMs: 1,
              mentions: [0, 1, 2].filter((index) => index !== self),
            })) as [Habit, Habit, Habit],
            2,
          ],
          // All comment in the same thread.
          [
            [0, 1, 2].map((self) => ({
              writes: 'comment',
              answerMentions: [(self + 1) % 3],
              isBelow: true,
              pauseMs: 1,
              mentions: [(self + 1) % 3],
            })) as [Habit, Habit, Habit],
            0,
          ],
        ],
        1,
      ),
    },
  )
})
