import { expect, test } from 'vitest'
import { createOfflineModel } from '../../../src/agents/models/offline/offline-model'
import { activationLimits } from '../../../src/shared/config'
import { askingComments, converse } from './converse'
import { hubOf, posts } from './small-hub'

const model = createOfflineModel()
const people = ['alice', 'bob', 'carol', 'dave']
const subjects = [
  'walnut',
  'bicycle',
  'lantern',
  'kettle',
  'harbour',
  'violin',
  'saddle',
  'compass',
  'blanket',
  'chimney',
  'orchard',
  'ferry',
]
const shelf = hubOf(
  subjects.map((subject) => ({
    id: subject,
    title: `Our ${subject}`,
    content: `The ${subject} is stored behind the barn.`,
  })),
)
const ask = (count: number) =>
  askingComments(
    subjects.slice(0, count).map((subject, at) => ({
      author: people[at % people.length] ?? '',
      text: `@scout where is the ${subject} stored?`,
    })),
  )

test('L38: ten questions by four people all get their answer, each named', async () => {
  const { text, calls } = await converse(model, ask(10), shelf)
  const searches = calls.filter((call) => call.startsWith('hub_search'))
  expect(searches).toHaveLength(10)
  expect(calls.length - searches.length).toBeLessThanOrEqual(activationLimits.toolCallsPerStep)
  const sections = text.split('\n\nFor ')
  subjects.slice(0, 10).forEach((subject, at) => {
    expect(sections[at]).toContain(`${people[at % 4]}, “where is the ${subject} stored?”: `)
    expect(sections[at]).toContain(`(/p/${subject})`)
  })
})

test('L38: questions beyond the limit are listed with their authors', async () => {
  const { text } = await converse(model, ask(12), shelf)
  const rest = text.slice(text.indexOf('I look up 10 questions at a time'))
  expect(rest).toContain('Please ask me again:')
  expect(rest).toContain('- carol, “where is the orchard stored?”')
  expect(rest).toContain('- dave, “where is the ferry stored?”')
  expect(rest).not.toContain('chimney')
})

test('L38: the same question of several people is looked up once, for all of them', async () => {
  const asked = ['alice', 'bob', 'alice'].map((author, at) => ({
    author,
    text: at === 1 ? 'Where is the walnut stored, @scout?' : '@scout where is the walnut stored?',
  }))
  const kettle = { author: 'carol', text: '@scout where is the kettle stored?' }
  const { text, calls } = await converse(model, askingComments([...asked, kettle]), shelf)
  expect(calls.filter((call) => call.startsWith('hub_search'))).toHaveLength(2)
  expect(text).toContain('For alice and bob, “where is the walnut stored?”: ')
})

test('L38: a question without search terms is answered as such, beside the others', async () => {
  const asked = [
    { author: 'alice', text: '@scout what about this?' },
    { author: 'bob', text: '@scout where is the kettle stored?' },
  ]
  const { text } = await converse(model, askingComments(asked), shelf)
  expect(text).toContain('(/p/kettle)')
  expect(text).toContain('For alice, “what about this?”: I found no word in that')
})

test('L29: one failed search of several is reported for its question alone', async () => {
  const asked = [
    { author: 'alice', text: '@scout where is the walnut stored?' },
    { author: 'bob', text: '@scout where is the kettle stored?' },
  ]
  const flaky = {
    call: (name: string, json: string) =>
      json.includes('walnut') && name === 'hub_search' ? 'Error: away' : shelf.call(name, json),
  }
  const { text } = await converse(model, askingComments(asked), flaky)
  expect(text).toMatch(/For alice, .*could not search/)
  expect(text).toMatch(/For bob, .*\(\/p\/kettle\)/)
})

test('L16: a quoted question mentions nobody and adds no markup', async () => {
  const asked = [
    { author: 'alice', text: 'Hello! @scout ask @bob where the [walnut](javascript:x) <b>is</b>' },
    { author: 'bob', text: `@scout where is the kettle ${'really '.repeat(40)}stored?` },
  ]
  const { text } = await converse(model, askingComments(asked), hubOf(posts))
  expect(text).toContain('“Hello! ask bob where the \\[walnut\\](javascript:x) \\<b\\>is\\</b\\>”')
  expect(text).not.toContain('@')
  expect(text).toMatch(/“where is the kettle [\w ]{1,60}…”/)
})
