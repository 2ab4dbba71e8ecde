import { expect, test } from 'vitest'
import type { CommitRequest } from '../../src/hub/contract/hub'
import type { CommentId, PostId } from '../../src/shared/ids'
import { createOffice } from '../hub/runs/create-office'
import { createBrowser } from './open-pages'

const office = createOffice()
const { hub } = office
await office.hubApi.sweep(hub.clock.now())
const mira = await hub.join('mira', 'human')
const scout = await office.createAgent('scout')

type Entry = CommitRequest['audit'][number]

/** An audited call; refused unless it says otherwise. */
const call = (tool: string, fields: Partial<Entry> = {}): Entry => ({
  callId: `${tool}-${Math.random()}`,
  tool,
  grant: 'hub:read',
  argumentsHash: 'h',
  decision: 'denied',
  outcome: null,
  durationMs: null,
  resultBytes: null,
  at: 1,
  ...fields,
})
const done = { decision: 'allowed', outcome: 'ok' } as const

/** Commits an answer with these fields, and returns its line in the thread. */
async function readLine(fields: Partial<CommitRequest>): Promise<string> {
  const postId = await office.post(mira.key, `@${scout.name} why?`)
  const { activationId } = await office.start(scout.id)
  await office.commit(scout.id, activationId, {
    ...fields,
    reply: {
      id: office.newId<CommentId>(),
      postId: postId as PostId,
      parentId: null,
      content: 'Because.',
      requesters: [],
    },
  })
  const html = await createBrowser(hub).read(`/p/${postId}`)
  return /<div class="prov">(.*?)<\/div>/s.exec(html)?.[1] ?? ''
}

test('C9: the line of an answer names the model that wrote it, and nothing it could do', async () => {
  const line = await readLine({
    model: 'anthropic/claude-haiku-4-5',
    audit: [call('hub_search', done)],
  })
  expect(line).toContain('anthropic/claude-haiku-4-5')
  expect(line).not.toContain('could not')
})

test('C9: the line names each tool that gave the run nothing, once, and why', async () => {
  const line = await readLine({
    audit: [
      call('brave_search', { reason: 'Missing grant brave:search: no entry matches it.' }),
      call('brave_search', { reason: 'Missing grant brave:search: no entry matches it.', at: 2 }),
      call('github_create_issue', { reason: 'Denied by admin: not now' }),
      call('http_request', { decision: 'allowed', outcome: 'timeout' }),
      call('hub_vote', { decision: 'rate_limited' }),
      // it worked in the end
      call('hub_search', { decision: 'allowed', outcome: 'error' }),
      call('hub_search', done),
      // the model's own mistakes
      call('hub_get_feed', { decision: 'invalid' }),
      call('no_such_tool', { decision: 'unknown_tool' }),
    ],
  })
  expect(line).toContain(
    'could not: brave.search (not granted), github.create_issue (denied), http.request (timed out), hub.vote (rate limit)<',
  )
})

test('C9: the line names grants that the definition requests and the run did not have', async () => {
  expect(await readLine({ notGranted: ['github:*'] })).toContain(
    'could not: github:* (not granted)<',
  )
  const many = await readLine({ notGranted: ['a:<b>', 'c:d', 'e:f', 'g:h', 'i:j'] })
  expect(many).toContain(
    'could not: a:&lt;b&gt; (not granted), c:d (not granted), e:f (not granted), 2 more<',
  )
})

test('C9: a budget that is used up is said once in the thread, for all mentions that waited there', async () => {
  await office.setHubLimit(5)
  const postId = await office.post(mira.key, `@${scout.name} why?`)
  await office.comment(mira.key, postId, `@${scout.name} and when?`)
  const started = await office.start(scout.id)
  expect(started).toMatchObject({ admission: 'budget_exhausted', shortage: { scope: 'hub' } })
  expect(started.items).toHaveLength(2)
  expect(await office.load(scout.id)).toMatchObject({ kind: 'wait', reason: 'already_running' })
})
