import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../../../scripts/local-state.mjs'
import type { RunOrder } from '../../../src/shared/runner-protocol.ts'
import { findSandboxProblem } from '../../support/start-runner-process.ts'
import { type GitServer, startGitServer } from './git-server.ts'
import { createStage, type Stage, token } from './start-runner.ts'

let stage: Stage
let git: GitServer
const sandboxProblem = findSandboxProblem()

beforeAll(async () => {
  stage = await createStage()
  git = await startGitServer(stage.folder, token)
  const aider = join(stage.folder, 'aider')
  mkdirSync(join(aider, 'bin'), { recursive: true })
  copyFileSync(join(root, 'tests/node/runner/fake-aider.mjs'), join(aider, 'bin/aider'))
  chmodSync(join(aider, 'bin/aider'), 0o755)
  const goose = join(stage.folder, 'goose')
  const bin = join(goose, `node_modules/@aaif/goose-binary-${process.platform}-${process.arch}/bin`)
  mkdirSync(bin, { recursive: true })
  copyFileSync(join(root, 'tests/node/runner/fake-program.mjs'), join(bin, 'fake.mjs'))
  const script = `#!/bin/sh\nexec ${process.execPath} ${join(bin, 'fake.mjs')}\n`
  writeFileSync(join(bin, 'goose'), script, { mode: 0o755 })
  stage.startProcess({
    hasSandbox: sandboxProblem === null,
    programs: [
      { type: 'claude-code', version: '1.2.3', folder: stage.programFolder },
      { type: 'goose', version: '1.0.0', folder: goose },
      { type: 'aider', version: '0.86.1', folder: aider },
    ],
  })
  await stage.hub.until(() => stage.hub.hellos[0])
})
afterAll(async () => {
  git.close()
  await stage.close()
})

const workspace = {
  repository: 'github/owner/name',
  ref: null,
  branch: 'rookery/fix',
  push: ['rookery/*'],
}
const play = async (prompt: string, changes: Partial<RunOrder>) => {
  const endpoints = { ...stage.order('').endpoints, git: git.url }
  const order = stage.order(prompt, { workspace, endpoints, ...changes })
  stage.hub.send({ type: 'start', order })
  return stage.ended(order)
}

test('X11: without built-in tools a checkout is read, and nothing is pushed', async () => {
  const ended = await play('good', {})
  expect(ended).toMatchObject({
    end: 'end_turn',
    is_success: true,
    changes: { branch: 'rookery/fix', pushed: null, since: null, stat: '', patch: '' },
  })
  const missing = await play('good', { workspace: { ...workspace, ref: 'missing' } })
  expect(missing.end).toBe('error')
  expect(missing.detail).toContain("couldn't find remote ref missing")
  expect(missing.detail).not.toContain(token)
})

// bubblewrap, socat and ripgrep, and a machine that allows namespaces.
describe.skipIf(sandboxProblem !== null)('inside the sandbox', () => {
  test('X11: changes are committed, described and pushed on the branch, and a later run goes on', async () => {
    const first = await play('write', { builtin: 'files' })
    expect(first).toMatchObject({ end: 'end_turn', is_success: true, detail: null })
    expect(first.changes?.stat).toContain('fixed.txt')
    expect(first.changes?.patch).toContain('+fixed')
    expect(git.git('rev-parse', 'rookery/fix')).toBe(first.changes?.pushed)
    expect(git.git('show', 'rookery/fix:fixed.txt')).toBe('fixed')
    expect(git.git('log', '-1', '--format=%an', 'rookery/fix')).toBe('coder')
    const next = await play('append', { builtin: 'files', session_id: first.session_id })
    expect(git.git('rev-parse', 'rookery/fix~1')).toBe(first.changes?.pushed)
    expect([first.changes?.since, next.changes?.since]).toEqual([null, first.changes?.pushed])
    expect(next.changes?.patch).toContain('+more')
    expect(next.changes?.patch).not.toContain('+fixed')
    expect(git.refused).toBe(0)
  })

  test('X12: a long patch is truncated with a note, and binary files are only named', async () => {
    const ended = await play('flooded', {
      builtin: 'files',
      workspace: { ...workspace, branch: 'rookery/long' },
    })
    const { patch = '', pushed, stat } = ended.changes ?? {}
    expect(git.git('rev-parse', 'rookery/long')).toBe(pushed)
    expect(stat).toMatch(/a\.bin.*Bin/)
    expect(patch).toContain('Binary files /dev/null and b/a.bin differ')
    expect(Buffer.byteLength(patch)).toBeLessThanOrEqual(1_048_576)
    expect(patch).toMatch(
      /\n\+a line with é \d+\n\[Truncated: the patch is longer than 1 MiB\.\]\n$/,
    )
  })

  test('X11: a branch outside of the pattern is described and not pushed, and a later run has its work', async () => {
    const release = { builtin: 'files', workspace: { ...workspace, branch: 'release' } } as const
    const ended = await play('write', release)
    expect(ended.changes).toMatchObject({ branch: 'release', pushed: null })
    expect(ended.changes?.patch).toContain('+fixed')
    expect(ended.detail).toContain('does not allow a push to release')
    expect(git.git('branch', '--list', 'release')).toBe('')
    // Others have moved the ref meanwhile; what they did is no change of the run.
    const tree = git.git('rev-parse', 'rookery/long^{tree}')
    const moved = git.git('commit-tree', tree, '-p', 'main', '-m', 'Moved')
    git.git('update-ref', 'refs/heads/main', moved)
    const next = await play('append', { ...release, session_id: ended.session_id })
    expect(next.changes?.patch).toContain('+fixed\n+more')
    expect(next.changes?.patch).not.toContain('a.bin')
    expect(next.changes?.stat).not.toContain('a.bin')
  })

  test('X7: a program with a command line edits the checkout, and its history has the answer', async () => {
    const model = { ...stage.order('').model, protocols: ['openai-chat' as const] }
    const branch = { ...workspace, branch: 'rookery/aider' }
    const ended = await play('Fix it', {
      program: 'aider',
      builtin: 'files',
      model,
      workspace: branch,
    })
    expect(ended).toMatchObject({ end: 'end_turn', is_success: true, answer: 'I fixed it.' })
    expect(git.git('show', 'rookery/aider:aider.txt')).toBe('You fix things.')
  })

  test('X11: a run reads what its own refs reach, and nothing that other runs made or fetched', async () => {
    const listKept = () =>
      readdirSync(join(stage.folder, 'state/places')).filter((name) => name.endsWith('.git'))
    const kept = listKept()
    const old = git.git('rev-parse', 'main')
    const branch = { ...workspace, branch: 'rookery/private' }
    const first = await play('write', { builtin: 'files', workspace: branch })
    const made = first.changes?.pushed ?? ''
    const blob = git.git('rev-parse', `${made}:fixed.txt`)
    // A later run of the conversation fetches the branch.
    const next = await play(`append objects ${made} ${blob}`, {
      builtin: 'shell',
      workspace: branch,
    })
    expect(next.answer).toBe(`Added more.found ${made} ${blob}`)
    const others = { ...workspace, branch: 'rookery/others' }
    const look = `objects ${old} ${made} ${blob} ${next.changes?.pushed}`
    const other = await play(look, { builtin: 'shell', workspace: others })
    expect(other.answer).toBe(`found ${old}`)
    // Neither what was removed from the history of its ref.
    const rewritten = git.git('commit-tree', '-m', 'Rewritten', `${old}^{tree}`)
    git.git('update-ref', 'refs/heads/main', rewritten)
    const later = await play(`${look} ${rewritten}`, { builtin: 'shell', workspace: others })
    expect(later.answer).toBe(`found ${rewritten}`)
    // All was pushed, so no objects of these runs are left.
    expect(listKept()).toEqual(kept)
  })

  test('X3: a link that a program leaves where the runner writes is not followed', async () => {
    const outside = join(stage.folder, 'elsewhere')
    mkdirSync(outside)
    const changes = {
      program: 'goose' as const,
      builtin: 'shell' as const,
      system_prompt: '',
      workspace: { ...workspace, branch: 'rookery/links' },
    }
    const ended = await play(`modelless links ${outside}`, changes)
    expect(ended.answer).toMatch(/^Linked \.config .*work/)
    const next = await play('modelless write', { ...changes, session_id: ended.session_id })
    expect(readdirSync(outside)).toEqual([])
    expect(next.answer).toBe('Fixed.')
  })

  test('X11: what a checkout makes git write in place of its commits opens no other repository', async () => {
    const foreign = join(stage.folder, 'foreign')
    mkdirSync(foreign)
    writeFileSync(join(foreign, 'secret.txt'), 'the private source')
    git.init(foreign)
    const program = join(
      stage.programFolder,
      'node_modules/@agentclientprotocol/claude-agent-acp/dist',
    )
    copyFileSync(join(root, 'tests/support/write-instead.mjs'), join(program, 'instead.mjs'))
    const playInstead = (branch: string, written: string) => {
      writeFileSync(join(program, 'instead'), written)
      const own = { ...workspace, branch }
      return play('modelless beside instead', { builtin: 'shell', workspace: own })
    }
    const ended = [
      await playInstead('rookery/instead-pointer', `gitdir: ${foreign}/.git\n`),
      await playInstead('rookery/instead-path', foreign),
      await playInstead('rookery/instead-id', `${git.git('rev-parse', 'main')}\n`),
    ]
    for (const { answer, changes } of ended) {
      expect(answer).toBe('It writes instead.')
      expect(changes).toMatchObject({ pushed: null, stat: '', patch: '' })
    }
    expect(git.git('branch', '--list', 'rookery/instead-*')).toBe('')
    expect(JSON.stringify(ended)).not.toContain('private source')
  })

  test('X10: no file of a home folder runs before the sandbox is closed', async () => {
    const own = { ...workspace, branch: 'rookery/home' }
    const first = await play('modelless startup', { builtin: 'shell', workspace: own })
    const next = await play('modelless startup', {
      builtin: 'shell',
      workspace: own,
      session_id: first.session_id,
    })
    expect([first.answer, next.answer]).toEqual(['Nothing has run.', 'Nothing has run.'])
  })

  test('X10: a hostile checkout runs nothing outside, and a hostile program reaches nothing', async () => {
    const secret = join(stage.folder, 'state/secret')
    writeFileSync(secret, 'of the runner')
    const outside = join(stage.folder, 'outside')
    const ended = await play('hostile', {
      builtin: 'shell',
      workspace: { ...workspace, branch: 'rookery/hostile' },
      prompt: `hostile ${outside} ${secret} ${stage.hub.url} ${git.url}`,
    })
    expect(ended.answer).toContain('tried')
    // Where nothing is visible it may write, and nobody sees it.
    const reached = ended.answer.split('\n').filter((line) => line.startsWith('reached'))
    expect(reached.filter((line) => line !== 'reached outside')).toEqual([])
    expect(existsSync(outside)).toBe(false)
    const repositories = join(stage.folder, 'state/repositories')
    const config = readdirSync(repositories).map((name) =>
      readFileSync(join(repositories, name, 'config'), 'utf8'),
    )
    expect(config.join('')).not.toContain('hostile')
  })
})
