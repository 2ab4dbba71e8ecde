import { expect, test } from 'vitest'
import { isBareCourtesy, isStop } from '../../../src/hub/inbox/reach'

test.each([
  'thanks',
  'Thanks!',
  'Thank you so much.',
  'ok',
  'OK, thanks',
  'Okay 👍',
  '👍',
  '🙏🏽 🎉',
  '...',
  'danke',
  'Vielen Dank!',
  'merci beaucoup',
  'Muchas gracias',
  'grazie mille',
  'obrigada',
  'tack så mycket',
  'спасибо',
  'ありがとうございます',
  '谢谢',
  '감사합니다',
  'teşekkürler',
  'Great, got it, thanks',
  'noted',
])('C1: "%s" asks nothing', (text) => {
  expect(isBareCourtesy(text)).toBe(true)
})

test.each([
  'ok?',
  'Thanks, and the cost?',
  'yes',
  'no',
  'thanks for nothing, do it again',
  '412',
  'go on',
  'why',
  'great',
  'ok do it',
  'merci de corriger',
  `thanks ${'a '.repeat(20)}`,
  'stop',
  '+1 for the second plan',
])('C1: "%s" may ask something', (text) => {
  expect(isBareCourtesy(text)).toBe(false)
})

test.each([
  ['stop', true],
  ['Stop!', true],
  ['@scout stop', true],
  ['please stop', true],
  ['STOP.', true],
  ['stopp', true],
  ['stop searching the archive', false],
  ['non-stop', false],
  ["don't stop", false],
  ['@scout', false],
])('C1: "%s" is a stop: %s', (text, expected) => {
  expect(isStop(text)).toBe(expected)
})
