import { describe, expect, test } from 'vitest'
import { findMismatch } from '../../scripts/ensure-installed.mjs'

const machine = { os: 'linux', cpu: 'x64', isDev: true }
const tool = { version: '1.0.0', integrity: 'sha512-a' }
const binary = { version: '2.0.0', integrity: 'sha512-b', optional: true, os: ['darwin'] }
const lock = { '': {}, 'node_modules/tool': tool, 'node_modules/binary': binary }

describe('whether node_modules matches the lockfile', () => {
  test('a clone in which nothing is installed does not', () => {
    expect(findMismatch(lock, null, machine)).toBe('nothing is installed')
  })

  test('an installation that lacks only what other machines need does', () => {
    expect(findMismatch(lock, { 'node_modules/tool': tool }, machine)).toBeNull()
  })

  test('a missing package, another version and other content do not', () => {
    const installed = (entry: object) => ({ 'node_modules/tool': { ...tool, ...entry } })
    expect(findMismatch(lock, {}, machine)).toContain('tool is missing')
    expect(findMismatch(lock, installed({ version: '0.9.0' }), machine)).toContain('0.9.0')
    expect(findMismatch(lock, installed({ integrity: 'sha512-x' }), machine)).not.toBeNull()
  })

  test('an installation without the packages of tests is enough for the hub, not for tests', () => {
    const checker = { ...tool, dev: true }
    const wanted = { ...lock, 'node_modules/checker': checker }
    const installed = { 'node_modules/tool': tool }
    expect(findMismatch(wanted, installed, { ...machine, isDev: false })).toBeNull()
    expect(findMismatch(wanted, installed, machine)).toContain('checker is missing')
    const old = { ...installed, 'node_modules/checker': { ...checker, version: '0.9.0' } }
    expect(findMismatch(wanted, old, { ...machine, isDev: false })).toContain('0.9.0')
  })

  test('a package that the lockfile no longer has does not', () => {
    const installed = { 'node_modules/tool': tool, 'node_modules/old': tool }
    expect(findMismatch(lock, installed, machine)).toContain('old is not in the lockfile')
  })

  test('a node_modules brought from another kind of machine does not', () => {
    const installed = { 'node_modules/tool': tool, 'node_modules/binary': binary }
    expect(findMismatch(lock, installed, machine)).toContain('another kind of machine')
    expect(findMismatch(lock, installed, { ...machine, os: 'darwin', cpu: 'arm64' })).toBeNull()
  })
})
