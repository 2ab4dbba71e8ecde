import { expect, test } from 'vitest'
import * as zod from 'zod'
import * as forPackages from '../../src/bundle/zod-for-packages'

test('packages find in zod all it has but its languages', () => {
  const left = ['core', 'default', 'locales', 'z']
  const names = Object.keys(zod).filter((name) => !left.includes(name))
  expect(Object.keys(forPackages.z).sort()).toEqual(names.sort())
  expect(Object.keys(forPackages).sort()).toEqual([...names, 'z'].sort())
})
