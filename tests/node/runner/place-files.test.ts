import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ensureFolder, readInside, writeInside } from '../../../runner/run/place-files.ts'
import { giveToRunner, openFolder, unprivileged } from '../../support/start-runner-process.ts'

const root = mkdtempSync(join(tmpdir(), 'rookery-place-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('X3: files of a place are written and read below it, whatever links a program left there', () => {
  const place = join(root, 'place')
  const outside = join(root, 'outside')
  for (const path of [place, outside, join(place, 'home')]) mkdirSync(path)
  writeFileSync(join(outside, 'config.toml'), 'secret')
  symlinkSync(outside, join(place, 'home/.codex'))
  expect(readInside(place, 'home/.codex/config.toml')).toBe('')
  writeInside(place, 'home/.codex/config.toml', 'of the run')
  expect(readFileSync(join(outside, 'config.toml'), 'utf8')).toBe('secret')
  expect(readInside(place, 'home/.codex/config.toml')).toBe('of the run')

  // The file itself, the first folder, and a link to nothing.
  symlinkSync(join(outside, 'config.toml'), join(place, 'home/file'))
  symlinkSync(outside, join(place, 'tmp'))
  symlinkSync(join(outside, 'new'), join(place, 'home/dangling'))
  expect(readInside(place, 'home/file')).toBe('')
  expect(readInside(place, 'tmp/config.toml')).toBe('')
  for (const path of ['home/file', 'tmp/config.toml', 'home/dangling']) {
    writeInside(place, path, 'of the run')
    expect(readInside(place, path)).toBe('of the run')
  }
  symlinkSync(outside, join(place, 'work'))
  ensureFolder(join(place, 'work'))
  writeFileSync(join(place, 'work/mine'), '')
  expect(readFileSync(join(outside, 'config.toml'), 'utf8')).toBe('secret')
  expect(['new', 'mine'].filter((name) => existsSync(join(outside, name)))).toEqual([])
  expect(() => writeInside(place, '../outside/new', '')).toThrow('leads out of its folder')
})

test('X3: a link that comes and goes while a file is opened is not followed, and no pipe or device is read', async () => {
  const place = join(root, 'racing')
  const outside = join(root, 'racing-outside')
  for (const path of [place, outside, join(place, 'tmp')]) mkdirSync(path)
  writeFileSync(join(outside, 'answer.md'), 'secret')
  writeFileSync(join(place, 'tmp/answer.md'), 'of the run')
  symlinkSync(outside, join(place, 'link'))
  const swap = `const { renameSync } = require('node:fs')
    process.chdir(${JSON.stringify(place)})
    process.stdout.write('racing')
    for (;;) {
      renameSync('tmp', 'real'); renameSync('link', 'tmp')
      renameSync('tmp', 'link'); renameSync('real', 'tmp')
    }`
  const racer = spawn(process.execPath, ['--eval', swap], { stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    await once(racer.stdout, 'data')
    const texts = Array.from({ length: 20_000 }, () => readInside(place, 'tmp/answer.md'))
    expect([...new Set(texts)].filter((text) => text !== '' && text !== 'of the run')).toEqual([])
  } finally {
    racer.kill('SIGKILL')
    await once(racer, 'close')
  }
  execFileSync('mkfifo', [join(place, 'pipe')])
  symlinkSync('/dev/zero', join(place, 'device'))
  expect(['pipe', 'device', '.'].map((path) => readInside(place, path))).toEqual(['', '', ''])
})

test('X3: what a program takes the rights away of, or nests without end, is deleted all the same', () => {
  const left = join(root, 'places/left')
  mkdirSync(join(left, 'closed/inner'), { recursive: true })
  openFolder(root)
  giveToRunner(join(root, 'places'))
  const path = join(import.meta.dirname, '../../../runner/run/place-files.ts')
  const script = `import { chmodSync, mkdirSync } from 'node:fs'
    import { removeTree } from ${JSON.stringify(path)}
    process.chdir(process.argv[1])
    chmodSync('closed', 0)
    for (let depth = 0; depth < 40; depth++) {
      mkdirSync('n'.repeat(200))
      process.chdir('n'.repeat(200))
    }
    process.chdir('/')
    chmodSync(process.argv[1], 0)
    removeTree(process.argv[1])`
  const args = ['--input-type=module', '--eval', script, left]
  execFileSync(process.execPath, args, { ...unprivileged })
  expect(existsSync(left)).toBe(false)
})
