import { describe, expect, it } from 'vitest'
import { measureLeastMs } from '../../support/measure-least'
import { aDefinition, aLoad, anItem, assemble, aThread } from './sources'

const skill = (name: string, head: string, body: string) => ({
  [`skills/${name}/SKILL.md`]: `---\nname: ${name}\ndescription: About ${name}\n${head}\n---\n${body}`,
})

const files = {
  ...skill('birds', 'triggers: { keywords: [night heron, Gull] }', 'Count twice.'),
  ...skill('rusty', 'triggers: { communities: [m/rust] }', 'Cite the book.'),
  ...skill('quiet', '', 'Only when asked for.'),
}

const asking = (content: string, community = 'general') => ({
  ...aLoad,
  thread: { ...aThread, post: { ...aThread.post, title: '', content, community } },
  items: [{ ...anItem, content }],
})

const textFor = (load: typeof aLoad, extra = '', contextTokens = 100_000) =>
  assemble({ definition: aDefinition(extra, files), load, contextTokens }).text

describe('skills in a prompt', () => {
  it('D5: name and description are always there', () => {
    const text = textFor(asking('hi'))
    for (const name of ['birds', 'rusty', 'quiet'])
      expect(text).toContain(`- ${name}: About ${name}`)
    for (const body of ['Count twice', 'Cite the book', 'Only when'])
      expect(text).not.toContain(body)
  })

  it.each(['a Night  heron!', 'seen a gull?', 'GULL'])(
    'D5: the body comes with a keyword: %s',
    (words) => {
      expect(textFor(asking(words))).toContain('Count twice.')
    },
  )

  it.each(['seagulls', 'night', 'gullible'])(
    'D5: part of a word does not match a keyword: %s',
    (words) => {
      expect(textFor(asking(words))).not.toContain('Count twice.')
    },
  )

  it.each([
    ['c++', 'Is C++ meant?', true],
    ['c++', 'c++11', false],
    ['a a b', 'a a a b', true],
    ['𝒳', 'an 𝒳 here', true],
    ['𝒳', 'an 𝒳𝒴 here', false],
    ['.*', 'anything', false],
  ])('D5: the keyword %j in %j: %s', (keyword, words, isMatch) => {
    const odd = skill('odd', `triggers: { keywords: ["${keyword}"] }`, 'Only then.')
    const { text } = assemble({ definition: aDefinition('', odd), load: asking(words) })
    expect(text.includes('Only then.')).toBe(isMatch)
  })

  it('T14: many keywords that repeat themselves are looked for in time linear in the task', () => {
    const keywords = Array.from(
      { length: 50 },
      (_, index) => `"${'a '.repeat(30 + (index % 19))}b"`,
    )
    const many = Object.assign(
      {},
      ...Array.from({ length: 10 }, (_, index) =>
        skill(`s${index}`, `triggers: { keywords: [${keywords}] }`, 'x'),
      ),
    )
    const definition = aDefinition('', many)
    const [short, long] = [2_000, 20_000].map((words) => {
      const load = asking('a '.repeat(words))
      return measureLeastMs(() => assemble({ definition, load }), 0)
    })
    // ten times the words: ten times the work, and a hundred times were it squared
    expect((long ?? 0) / (short ?? 0)).toBeLessThan(40)
  })

  it('D5: the body comes with a community', () => {
    expect(textFor(asking('hi', 'rust'))).toContain('Cite the book.')
    expect(textFor(asking('hi', 'rusty'))).not.toContain('Cite the book.')
  })

  it('D5: a body for which a small window has no room waits until it is asked for', () => {
    const long = skill('long', 'triggers: { keywords: [gull] }', 'x'.repeat(20_000))
    const definition = aDefinition('', { ...files, ...long })
    const { text } = assemble({ definition, load: asking('gull'), contextTokens: 8_192 })
    expect(text).toContain('Count twice.')
    expect(text).toContain('- long: About long')
    expect(text).not.toContain('xxxx')
  })

  it('D5: only the skills that a definition lists are used, when it lists any', () => {
    const text = textFor(asking('gull', 'rust'), 'capabilities: { skills: [rusty] }')
    expect(text).toContain('Cite the book.')
    expect(text).not.toContain('About birds')
  })

  it('D5: a skill whose grants are missing is left out, with a note in the trace', () => {
    const needy = skill('pulls', 'requires_grants: [github:write]', 'Open one.')
    const definition = aDefinition('capabilities: { grants: ["github:*"] }', { ...files, ...needy })
    const policy = { requested: definition.grants, allowed: ['github:read'], denied: [] }
    const without = assemble({ definition, load: { ...asking('hi'), policy } })
    expect(without.text).not.toContain('About pulls')
    expect(without.notes).toEqual(['The skill pulls was left out. Not granted: github:write.'])
    const allowed = { ...policy, allowed: ['github:*'] }
    const whole = assemble({ definition, load: { ...asking('hi'), policy: allowed } })
    expect(whole.text).toContain('About pulls')
    expect(whole.notes).toBeUndefined()
  })
})
