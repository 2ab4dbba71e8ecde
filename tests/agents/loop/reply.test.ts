import { describe, expect, test } from 'vitest'
import { nameAskers } from '../../../src/agents/loop/reply'

describe('names', () => {
  test('L6: everybody who asked is named once', () => {
    expect(nameAskers('Here it is.', ['mira', 'tomas'])).toBe('@mira @tomas Here it is.')
    expect(nameAskers('@mira Here it is.', ['mira'])).toBe('@mira Here it is.')
    expect(nameAskers('> quoted', ['mira'])).toBe('@mira\n\n> quoted')
  })
})
