import { expect, test } from 'vitest'
import { adaOutside } from '../../support/fake-hub-api'
import { setUpGithub } from './set-up-github'

const marks = /<!-- rookery:[0-9a-f]{32} -->/

test('M1: an issue is opened with what was given, and the mark is seen by nobody', async () => {
  const { ask, state } = await setUpGithub()
  const opened = await ask('create_issue', { title: 'A leak', body: 'Drip.', labels: ['bug'] })
  expect(opened).toMatchObject({ number: 1, title: 'A leak', labels: ['bug'] })
  const { log } = await state()
  expect(log.map(({ method }) => method)).toEqual(['GET', 'POST'])
  expect(log[1]?.body).toEqual({
    title: 'A leak',
    labels: ['bug'],
    body: expect.stringMatching(/^Drip\.\n\n<!-- rookery:[0-9a-f]{32} -->$/),
  })
  expect((await ask('get_issue', { number: 1 })).body).toBe('Drip.')
})

test('L36, M1: an issue whose answer was lost is found again and not opened twice', async () => {
  const { ask, fail, seed, plan, state } = await setUpGithub()
  await plan({ method: 'POST', isLost: true })
  expect(await fail('create_issue', { title: 'A leak' })).toMatch(/may still have completed/)
  await seed('issues', { title: 'By somebody else' })
  const again = await ask('create_issue', { title: 'A leak' })
  expect(again).toMatchObject({
    number: 1,
    note: 'An earlier attempt of this call opened the issue.',
  })
  expect((await state()).issues).toHaveLength(2)
})

test('L36, M1: another call with the same words is another issue', async () => {
  const { ask, call, state } = await setUpGithub()
  await ask('create_issue', { title: 'A leak' })
  const args = { owner: 'acme', repo: 'tools', title: 'A leak' }
  // who calls from outside has no key that a repeat would have too
  await call('github_create_issue', args, adaOutside)
  await call('github_create_issue', args, adaOutside)
  const { issues, log } = await state()
  expect(issues.map(({ body }) => marks.test(String(body)))).toEqual([true, false, false])
  expect(log.map(({ method }) => method)).toEqual(['GET', 'POST', 'POST', 'POST'])
})

test('L36, M1: a comment whose answer was lost is found again', async () => {
  const { ask, fail, seed, plan, state } = await setUpGithub()
  await seed('issues', { title: 'A leak' })
  await plan({ method: 'POST', isLost: true })
  await fail('add_comment', { number: 1, body: 'Mine too.' })
  const again = await ask('add_comment', { number: 1, body: 'Mine too.' })
  expect(again).toEqual({
    id: '1',
    created_at: '2026-11-20T09:00:00Z',
    url: 'https://github.com/acme/tools/issues/1#issuecomment-1',
    note: 'An earlier attempt of this call wrote the comment.',
  })
  const { comments } = await state()
  expect(comments.map(({ body }) => String(body).replace(marks, '~'))).toEqual(['Mine too.\n\n~'])
})

test('L36, M1: a pull request whose answer was lost is found again; that of somebody else is not ours', async () => {
  const { ask, fail, seed, plan, state } = await setUpGithub()
  const args = { title: 'Better', head: 'topic', base: 'main', draft: true }
  await plan({ method: 'POST', isLost: true })
  await fail('create_pull_request', args)
  const again = await ask('create_pull_request', args)
  expect(again).toMatchObject({ number: 1, draft: true, from: 'acme:topic' })
  expect(again.note).toBe('An earlier attempt of this call opened the pull request.')
  await seed('pulls', { title: 'Theirs', head: 'other', base: 'main' })
  expect(await fail('create_pull_request', { ...args, head: 'other' })).toMatch(
    /PullRequest: A pull request already exists for acme:other\.$/,
  )
  expect((await state()).pulls).toHaveLength(2)
})

test('M1: a workflow is started with its inputs, and is not started again by itself', async () => {
  const { ask, fail, state, gateway } = await setUpGithub()
  const args = { workflow: 'release.yml', ref: 'main', inputs: { version: '1.2' } }
  expect(await ask('trigger_workflow', args)).toEqual({
    started: true,
    workflow: 'release.yml',
    ref: 'main',
  })
  expect((await state()).dispatches).toEqual([{ ref: 'main', inputs: { version: '1.2' } }])
  expect(await fail('trigger_workflow', { workflow: 'nope.yml', ref: 'main' })).toMatch(/\(404\)/)
  expect(gateway.describe('github_trigger_workflow')?.isIdempotent).toBe(false)
})
