import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGit, type Git } from '../../../runner/run/git.ts'

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
