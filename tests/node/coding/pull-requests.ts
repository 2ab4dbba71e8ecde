import { execFileSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { type CodingHub, until } from './coding-hub.ts'
import { startGithub } from './forge.ts'
import { expectReview, sendReview } from './send-review.ts'

/** A hub where an agent works in `acme/tools` of a GitHub, and may open pull requests when somebody approves. */
async function prepare(hub: CodingHub, forge: { url: string; bare: string }) {
  const source = fileURLToPath(new URL('../../support/pull-request-program.mjs', import.meta.url))
  copyFileSync(source, join(hub.adapter, 'pull.mjs'))
  const github = await startGithub(hub, forge)
  const allowed = ['hub:read', 'github:read', 'github:write', 'github:write:acme/tools']
  await hub.pushAgent('builder', [
    'workspace: { repository: "github:acme/tools" }',
    `capabilities: { builtin: files, grants: ["${allowed.join('", "')}"] }`,
  ])
  await hub.api('PUT', '/agents/builder/grants', {
    allowed,
    require_approval: ['tool:github_create_pull_request'],
  })
  return {
    ...github,
    readBranch: (name: string): string =>
      execFileSync('git', ['-C', forge.bare, 'show', `${name}:fixed.txt`], { encoding: 'utf8' }),
    approve: (runId: string) =>
      until('an approval', async () => {
        type Pending = { approvals: { id: string; run_id: string }[] }
        const { approvals } = await hub.api<Pending>('GET', '/approvals')
        const asked = approvals.filter((each) => each.run_id === runId)
        if (asked.length !== 1) return null
        const decision = { decision: 'approve', note: '' }
        return hub.api(
          'POST',
          `/approvals/${encodeURIComponent(asked[0]?.id ?? '')}/decide`,
          decision,
        )
      }),
    waitForRun: (postId: string, at: number, state: string) =>
      until(`run ${at} ${state}`, async () => {
        const run = (await hub.findRuns(postId))[at]
        return run?.state === state ? run : null
      }),
  }
}

/**
 * Opens a pull request while its program waits for the approver, and one after the run has parked, which is reviewed.
 *
 * @param endWaits lets runs park at once from then on
 */
export async function playPullRequests(
  hub: CodingHub,
  forge: { url: string; bare: string },
  endWaits: () => Promise<void>,
): Promise<void> {
  const { readPulls, readBranch, approve, waitForRun, close } = await prepare(hub, forge)
  // The branch was pushed before the call.
  const quick = await hub.ask('builder', 'beside pull')
  await approve((await waitForRun(quick, 0, 'running')).id)
  expect(await waitForRun(quick, 0, 'done')).toMatchObject({ run_attempt: 1 })
  const [first] = await readPulls()
  const [reply] = await hub.readReplies(quick)
  expect(reply?.content).toContain(`Pull request: <${first?.html_url}>`)
  expect(readBranch(first?.head.ref ?? '')).toBe('fixed\n')

  await endWaits()
  const late = await hub.ask('builder', 'beside pull')
  const parked = await waitForRun(late, 0, 'parked')
  expect(await readPulls()).toHaveLength(1)
  await approve(parked.id)
  expect(await waitForRun(late, 0, 'done')).toMatchObject({ outcome: 'completed', run_attempt: 2 })
  const [, opened, ...more] = await readPulls()
  expect(more).toEqual([])
  const branch = opened?.head.ref ?? ''
  expect(readBranch(branch)).toBe('fixed\n')
  const [answer] = await hub.readReplies(late)
  expect(answer?.content).toContain('I opened a pull request.')
  expect(answer?.content).toContain(`Pull request: <${opened?.html_url}>`)

  const reviewed = { url: hub.url(), adminKey: hub.adminKey(), openDatabase: hub.openDatabase }
  await sendReview(reviewed, 'builder', branch, 'Add a line. Do: append.')
  const next = await waitForRun(late, 1, 'done')
  expect(next.outcome).toBe('completed')
  expect(await hub.readPage(`/activations/${next.id}`)).toContain('with its earlier session')
  expect(readBranch(branch)).toBe('fixed\nmore\n')
  const comments = await hub.readReplies(late)
  expectReview(comments)
  expect(comments).toHaveLength(3)
  expect(comments.at(-1)?.content).toContain('Added more.')
  expect(comments.at(-1)?.content).toContain(branch)
  expect(await hub.findRuns(late)).toHaveLength(2)
  expect(await readPulls()).toHaveLength(2)
  await close()
}
