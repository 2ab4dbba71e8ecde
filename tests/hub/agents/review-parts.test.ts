import * as fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import type { PostId } from '../../../src/shared/ids'
import { newEventId, person, pullOf, repository, review } from '../../support/github-events'
import { createReviewOffice } from './review-office'

const { office, mira, coder, createHook, ...done } = await createReviewOffice()
const { answer, comments, pushFrom, send, settle, sweep, waiting } = done
const { hub, all, first, run } = office

afterEach(async () => {
  await office.clear()
  await run('DELETE FROM pushed_branches')
  await run('DELETE FROM received_reviews')
  hub.seen.woken = []
})

/** A comment on a line that belongs to a review. */
const lineOf = (branch: string, reviewId: number, body: string, line = 29) => ({
  action: 'created',
  repository,
  pull_request: pullOf(branch),
  comment: {
    id: newEventId(),
    pull_request_review_id: reviewId,
    path: 'src/dates.ts',
    line,
    body,
    ...person(),
  },
})

interface Part {
  event: string
  payload: object
  text: string
}

/** What GitHub sends for a review: itself, and each of its comments on lines. */
function createParts(branch: string, body: string | null, lines: number): Part[] {
  const reviewId = newEventId()
  const texts = Array.from({ length: lines }, (_, at) => `Line ${at + 1} is odd.`)
  const fields = { id: reviewId, body, state: 'commented' }
  return [
    { event: 'pull_request_review', payload: review(branch, fields), text: body ?? '' },
    ...texts.map((text, at) => ({
      event: 'pull_request_review_comment',
      text,
      payload: lineOf(branch, reviewId, text, at + 1),
    })),
  ]
}

const deliver = (parts: Part[]) =>
  Promise.all(parts.map(async ({ event, payload }) => (await send(payload, { event })).outcome))

const quoted = async (postId: PostId): Promise<string[]> =>
  (await comments(postId))
    .filter(({ author_id }) => String(author_id).startsWith('00000000'))
    .map(({ content }) => String(content))

const countTasks = async (postId: PostId): Promise<number> =>
  (await all(`SELECT 1 FROM inbox_items WHERE post_id = ? AND cause = 'follow_up'`, postId)).length

const countIn = (text: string, part: string): number => text.split(part).length - 1

test('X15: a review and its comments on lines are one comment and one run, after a short wait', async () => {
  const { postId, branch } = await pushFrom()
  const parts = createParts(branch, 'Two things.', 2)
  expect(await deliver([...parts].reverse())).toEqual(['held', 'held', 'held'])
  await sweep()
  expect(await waiting(coder)).toEqual([])
  expect(hub.seen.sweepsAt.at(-1)).toBe(hub.clock.now() + 15_000)
  hub.clock.advance(14_000)
  expect((await sweep()).nextAttemptAt).toBe(hub.clock.now() + 1_000)
  expect(await quoted(postId)).toEqual([])
  hub.clock.advance(1_000)
  await sweep()
  const pull = '[Acme/Tools#12](https://github.com/Acme/Tools/pull/12)'
  expect(await quoted(postId)).toEqual([
    `**octocat** reviewed ${pull}:\n\n> Two things.\n\n\`src/dates.ts:1\`:\n\n> Line 1 is odd.\n\n\`src/dates.ts:2\`:\n\n> Line 2 is odd.`,
  ])
  const [, shown] = await comments(postId)
  expect(await waiting(coder)).toMatchObject([
    { type: 'reply', cause: 'follow_up', post_id: postId, comment_id: shown?.id, is_untrusted: 1 },
  ])
  expect(hub.seen.published.at(-1)?.topic).toBe(`post:${postId}`)
  expect(await first('SELECT comment_count FROM posts WHERE id = ?', postId)).toEqual({
    comment_count: 2,
  })
  expect((await answer(coder)).requesters).toMatchObject([{ name: 'mira' }])
  // Nothing of it is held any longer, and nothing is taken again.
  expect(await first('SELECT count(part) AS n FROM received_reviews')).toEqual({ n: 0 })
  expect(await deliver(parts)).toEqual(['ignored', 'ignored', 'ignored'])
  await settle()
  expect(await countTasks(postId)).toBe(1)
})

/** Deliveries and sweeps at once, some again, then maybe a run, and a pause. */
const stories = fc.integer({ min: 1, max: 3 }).chain((lines) =>
  fc.record({
    lines: fc.constant(lines),
    hasBody: fc.boolean(),
    steps: fc.array(
      fc.record({
        delivered: fc.array(fc.nat(lines), { minLength: 1, maxLength: 3 }),
        pauseMs: fc.constantFrom(0, 1_000, 14_999, 15_000, 40_000),
        sweeps: fc.nat(2),
        isRun: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  }),
)

test('X15: in any order, however often delivered, each part is shown once and one run is started', async () => {
  await fc.assert(
    fc.asyncProperty(stories, async ({ lines, hasBody, steps }) => {
      const { postId, branch } = await pushFrom()
      const parts = createParts(branch, hasBody ? 'Some things.' : null, lines)
      for (const { delivered, pauseMs, sweeps, isRun } of steps) {
        await Promise.all([
          deliver(delivered.flatMap((at) => parts.slice(at, at + 1))),
          ...Array.from({ length: sweeps }, sweep),
        ])
        hub.clock.advance(pauseMs)
        if (isRun && (await waiting(coder)).length > 0) await answer(coder)
      }
      const isAtOnce = steps.every(({ pauseMs }) => pauseMs === 0)
      await deliver([...parts, ...parts])
      await settle()
      const shown = await quoted(postId)
      for (const { text } of parts) {
        if (text !== '') expect(countIn(shown.join('\n'), text)).toBe(1)
      }
      expect(await countTasks(postId)).toBe(1)
      if (isAtOnce) expect(shown).toHaveLength(1)
      if ((await waiting(coder)).length > 0) await answer(coder)
      expect(await waiting(coder)).toEqual([])
    }),
    { numRuns: 8 },
  )
})

test('X15: a slow review is not held for ever, and what comes late is shown without a second run', async () => {
  const { postId, branch } = await pushFrom()
  const parts = createParts(branch, null, 6)
  for (const part of parts.slice(1, 6)) {
    await deliver([part])
    hub.clock.advance(13_000)
    await sweep()
  }
  // A minute is over.
  expect(await countTasks(postId)).toBe(1)
  await answer(coder)
  await deliver(parts.slice(6))
  await settle()
  expect((await quoted(postId)).join('\n')).toContain('Line 6 is odd.')
  expect(await waiting(coder)).toEqual([])
})

test('X15: reviews of two hooks and of two pull requests are held apart, and a long one is several comments of one run', async () => {
  const { postId, branch } = await pushFrom()
  const other = await pushFrom()
  const reviewId = newEventId()
  const body = (at: number) => `${at} ${'x'.repeat(5_000)}`
  for (const at of [1, 2, 3]) {
    await send(lineOf(branch, reviewId, body(at)), { event: 'pull_request_review_comment' })
  }
  await send(review(other.branch))
  await settle()
  const texts = await quoted(postId)
  expect(texts).toHaveLength(3)
  for (const text of texts) expect(text.length).toBeLessThanOrEqual(8_000)
  expect(await quoted(other.postId)).toHaveLength(1)
  // Both are waiting since the same moment.
  const runs = [await answer(coder), await answer(coder)]
  expect(runs.map(({ items }) => items.length).sort()).toEqual([1, 3])
  expect(await waiting(coder)).toEqual([])
  const second = await createHook(mira, coder)
  await send(lineOf(branch, reviewId, 'Once more.'), {
    event: 'pull_request_review_comment',
    hook: second,
  })
  await hub.call(`/triggers/${second.id}`, { key: mira.key, method: 'DELETE' })
  await settle()
  expect(await quoted(postId)).toHaveLength(3)
})

test('X15: what is held is dropped when the thread is closed meanwhile, and can be delivered again', async () => {
  const { postId, branch } = await pushFrom()
  const parts = createParts(branch, `Use sk-${'a'.repeat(30)} there.`, 1)
  await deliver(parts)
  // No credential waits in the database.
  expect(JSON.stringify(await all('SELECT part FROM received_reviews'))).not.toContain('sk-aaa')
  await run('UPDATE posts SET is_locked = 1 WHERE id = ?', postId)
  await settle()
  expect(await quoted(postId)).toEqual([])
  expect(await deliver(parts)).toEqual(['ignored', 'ignored'])
  await run('UPDATE posts SET is_locked = 0 WHERE id = ?', postId)
  expect(await deliver(parts)).toEqual(['held', 'held'])
  await run('DELETE FROM pushed_branches')
  await settle()
  expect(await quoted(postId)).toEqual([])
  expect(await all('SELECT 1 FROM received_reviews')).toEqual([])
})

test('X15: what was received, and branches, are deleted with the model calls of their day', async () => {
  const { branch } = await pushFrom()
  const parts = createParts(branch, 'One thing.', 1)
  await deliver(parts)
  await settle()
  await answer(coder)
  const count = async () => [
    (await all('SELECT 1 FROM received_reviews')).length,
    (await all('SELECT 1 FROM pushed_branches')).length,
  ]
  expect(await count()).toEqual([3, 1])
  hub.clock.advance(62 * 86_400_000)
  const recent = await pushFrom()
  await deliver(createParts(recent.branch, 'Another thing.', 0))
  await sweep()
  // The day on which they arrived is not yet over for them.
  expect(await count()).toEqual([4, 2])
  await deliver(parts)
  expect(await count()).toEqual([4, 2])
  hub.clock.advance(86_400_000)
  await sweep()
  expect(await count()).toEqual([2, 1])
  expect(await office.countTrips(sweep)).toBe(1)
})
