import { expect, test } from 'vitest'
import { chooseHubKeys, isPrivateTerminal } from '../../../scripts/deploy/hub-keys.mjs'

const kept = { ROOKERY_ADMIN_KEY: 'kept-admin', ROOKERY_VAULT_KEY: 'kept-vault' }
const names = Object.keys(kept)

test('keys of an interrupted deployment are stored where there are none, and replace none', () => {
  expect(chooseHubKeys({}, [], kept)).toMatchObject({ secrets: kept, made: kept })
  const later = chooseHubKeys({}, names, kept)
  expect(later.secrets).toEqual({})
  expect(later.made).toEqual(kept)
  expect(later.adminKey).toBe('kept-admin')
  const half = chooseHubKeys({}, ['ROOKERY_VAULT_KEY'], kept)
  expect(half.secrets).toEqual({ ROOKERY_ADMIN_KEY: 'kept-admin' })
})

test('a stored vault key is replaced only by a given one, with the old ones', () => {
  const given = { ROOKERY_VAULT_KEY: 'given' }
  expect(chooseHubKeys(given, names, {}).secrets).toEqual({})
  const old = { ...given, ROOKERY_VAULT_OLD_KEYS: 'old' }
  expect(chooseHubKeys(old, names, kept)).toMatchObject({
    secrets: given,
    made: { ROOKERY_ADMIN_KEY: 'kept-admin' },
  })
  expect(Object.keys(chooseHubKeys({}, [], {}).made)).toEqual(names)
})

test('only a terminal outside of CI is private', () => {
  const terminal = { isTTY: true }
  expect(isPrivateTerminal({}, terminal)).toBe(true)
  expect(isPrivateTerminal({ CI: 'false' }, terminal)).toBe(true)
  expect(isPrivateTerminal({ CI: 'true' }, terminal)).toBe(false)
  expect(isPrivateTerminal({}, {})).toBe(false)
})
