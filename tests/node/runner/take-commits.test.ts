import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createGit } from '../../../runner/run/git.ts'
import { readCommits } from '../../../runner/run/take-commits.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-commits-'))
const [foreign, own] = [join(folder, 'foreign'), join(folder, 'own.git')]
const endpoint = 'http://127.0.0.1:1/git'
const git = createGit({ url: `${endpoint}/github/a/b`, home: folder, endpoint, token: 'token' })
const options = ['user.name=x', 'user.email=x@x', 'core.compression=0'].flatMap((each) => [
  '-c',
  each,
])
const run = (args: string[], input = ''): Buffer =>
  execFileSync('git', [...options, ...args], {
    cwd: foreign,
    input,
    maxBuffer: 2 ** 28,
  })
const ask = (...args: string[]) => run(args).toString().trim()
const pack = (...ids: string[]) => run(['pack-objects', '--stdout', '-q'], ids.join('\n'))
const packOf = (id: string) => run(['pack-objects', '--stdout', '-q', '--revs'], id)
const hash = (type: string, content: Buffer) => {
  writeFileSync(join(folder, 'object'), content)
  return ask('hash-object', '-t', type, '-w', '--literally', join(folder, 'object'))
}

let head: string
beforeAll(async () => {
  mkdirSync(foreign)
  ask('init', '-q')
  writeFileSync(join(foreign, 'secret.txt'), 'the private source\n')
  ask('add', '-A')
  ask('commit', '-qm', 'Secret')
  head = ask('rev-parse', 'HEAD')
})
beforeEach(async () => {
  rmSync(own, { recursive: true, force: true })
  await git.create(own)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Passes bytes on in pieces, as a pipe does. */
const read = (...parts: (string | Buffer)[]) => {
  const whole = Buffer.concat(parts.map((part) => Buffer.from(part)))
  const pieces = [1, 39, 40, 41, 65_536].map((end, at, ends) => whole.subarray(ends[at - 1], end))
  return readCommits(git, own, Readable.from([...pieces, whole.subarray(65_536)]))
}

describe('X11: what is not a commit with all that belongs to it is not taken', () => {
  const nul = '\0'
  const cases: Record<string, () => (string | Buffer)[]> = {
    'the path of a repository': () => [foreign],
    'a file that points to a repository': () => [`gitdir: ${foreign}/.git\n`],
    'a bundle': () => [run(['bundle', 'create', '-q', '-', 'HEAD'])],
    'a bundle of a later version': () => [
      '# v3 git bundle\n@object-format=sha1\n',
      `${head} HEAD\n\n`,
    ],
    'the id of a commit elsewhere, and nothing else': () => [`${head}\n`],
    'an id that is an option': () => ['--upload-pack=touch x\n', packOf(head)],
    'an id with more behind it': () => [`${head} HEAD\n`, packOf(head)],
    'a short id': () => [`${head.slice(0, 39)}\n`, packOf(head)],
    'a pack without an id': () => [packOf(head)],
    'a pack of another commit': () => [`${'1'.repeat(40)}\n`, packOf(head)],
    'a pack that breaks': () => [`${head}\n`, packOf(head).subarray(0, -30)],
    'a pack whose bytes were changed': () => {
      const bytes = packOf(head)
      bytes[bytes.length - 25] = (bytes[bytes.length - 25] ?? 0) ^ 1
      return [`${head}\n`, bytes]
    },
    'a commit without its tree': () => [`${head}\n`, pack(head)],
    'a commit without a file': () => [`${head}\n`, pack(head, ask('rev-parse', 'HEAD^{tree}'))],
    'a file instead of a commit': () => {
      const blob = ask('rev-parse', 'HEAD:secret.txt')
      return [`${blob}\n`, pack(blob)]
    },
    'a tree that writes into .git': () => {
      const blob = Buffer.from(ask('rev-parse', 'HEAD:secret.txt'), 'hex')
      const tree = hash('tree', Buffer.concat([Buffer.from(`100644 .GIT${nul}`), blob]))
      const commit = ask('commit-tree', tree, '-m', 'x')
      return [`${commit}\n`, packOf(commit)]
    },
    'a .gitmodules with a command': () => {
      const text = '[submodule "x"]\n\tpath = x\n\turl = -u./command\n'
      const blob = Buffer.from(hash('blob', Buffer.from(text)), 'hex')
      const tree = hash('tree', Buffer.concat([Buffer.from(`100644 .gitmodules${nul}`), blob]))
      const commit = ask('commit-tree', tree, '-m', 'x')
      return [`${commit}\n`, packOf(commit)]
    },
    'a line without end': () => ['0'.repeat(200_000)],
  }
  test.each(Object.keys(cases))('%s', async (name) => {
    await expect(read(...(cases[name]?.() ?? []))).rejects.toThrow(/expected form|^git /)
    expect(existsSync(join(own, 'refs/end'))).toBe(false)
  })

  test('more than 64 MiB', async () => {
    const noise = randomBytes(66 * 2 ** 20)
    const blob = Buffer.from(hash('blob', noise), 'hex')
    const tree = hash('tree', Buffer.concat([Buffer.from(`100644 a${nul}`), blob]))
    const commit = ask('commit-tree', tree, '-m', 'x')
    await expect(read(`${commit}\n`, packOf(commit))).rejects.toThrow(
      /exceeds maximum allowed size/,
    )
  })
})

test('X11: a commit with all that belongs to it is taken, and nothing is nothing', async () => {
  expect(await read()).toBeNull()
  expect(await read(`${head}\n`, packOf(head))).toBe(head)
  expect(await git.run(own, 'show', 'refs/end:secret.txt')).toBe('the private source')
})

test('X11: without the token git opens no other repository, whatever names it', async () => {
  const bundle = join(folder, 'a.bundle')
  ask('bundle', 'create', '-q', bundle, 'HEAD')
  const pointer = join(folder, 'pointer')
  writeFileSync(pointer, `gitdir: ${foreign}/.git\n`)
  for (const source of [
    foreign,
    bundle,
    pointer,
    `file://${foreign}`,
    'ext::sh -c true',
    endpoint,
  ]) {
    await expect(git.run(own, 'fetch', source, 'HEAD')).rejects.toThrow(/not allowed/)
    const other = createGit({ url: source, home: folder, endpoint, token: 'token' })
    if (source !== endpoint)
      await expect(other.fetch(own, 'HEAD:refs/x')).rejects.toThrow(/not allowed/)
  }
})
