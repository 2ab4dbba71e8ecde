import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGit, type Git, judgeGitVersion } from '../../../runner/run/git.ts'

const { PATH } = process.env
const folder = mkdtempSync(join(tmpdir(), 'rookery-git-'))
let git: Git

beforeAll(() => {
  const script = `#!${process.execPath}
const isPatch = process.argv.includes('diff')
process[isPatch ? 'stdout' : 'stderr'].write('x'.repeat(17 * 1024 * 1024))
`
  writeFileSync(join(folder, 'git'), script)
  chmodSync(join(folder, 'git'), 0o755)
  process.env.PATH = `${folder}:${PATH}`
  const endpoint = 'http://127.0.0.1:1/git'
  git = createGit({ url: `${endpoint}/github/a/b`, home: folder, endpoint, token: 'token' })
})
afterAll(() => {
  process.env.PATH = PATH
  rmSync(folder, { recursive: true })
})

test('X11: git that writes too much has failed, but for a patch, which is truncated', async () => {
  await expect(git.push(folder, 'a:b')).rejects.toThrow(/^git push: stderr maxBuffer/)
  expect(await git.run(folder, 'diff', 'a', 'b')).toMatch(/^x+$/)
})

test.each([
  ['', 'git is not installed'],
  ['git version 1.9.5', 'too old'],
  ['git version 2.34.1', 'too old'],
  ['git version 2.39.3 (Apple Git-146)', 'too old'],
  ['git version 2.39.4', null],
  ['git version 2.39.5 (Apple Git-154)', null],
  ['git version 2.40.1', 'too old'],
  ['git version 2.43.0', 'too old'],
  ['git version 2.43.4', null],
  ['git version 2.45.0', 'too old'],
  ['git version 2.45.1', null],
  ['git version 2.46.0.rc1', null],
  ['git version 2.50.1.windows.1', null],
  ['git version 3.0.0', null],
])('X11: "%s": %s', (text, problem) => {
  if (problem === null) expect(judgeGitVersion(text)).toBeNull()
  else expect(judgeGitVersion(text)).toContain(problem)
})
