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
