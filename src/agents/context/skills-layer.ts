import type { GrantPolicy } from '../../hub/contract/hub'
import { findPlaces } from '../../shared/glob'
import type { Definition, Skill } from '../definitions/definition'

/**
 * Returns the agent's skills: name and description of each, and the full text of those whose trigger
 * matches the task. They are part of the definition, so this is system text. Null without skills.
 */
export function buildSkillsLayer(
  skills: Skill[],
  task: SkillTask,
  charsMax: number,
): string | null {
  if (skills.length === 0) return null
  const withFullText = chooseFullText(skills, task, charsMax)
  const list = skills.map(({ name, description }) => `- ${name}: ${description}`)
  return [
    'Your skills. Read one with skills_read_skill before you use it, unless its text is below.',
    list.join('\n'),
    ...withFullText.map(({ name, body }) => `## Skill ${name}\n\n${body}`),
  ].join('\n\n')
}

interface SkillTask {
  words: string
  /** Without m/; null outside a thread. */
  community: string | null
}

/** Returns the skills whose trigger matches, as long as they fit. */
function chooseFullText(
  skills: Skill[],
  { words, community }: SkillTask,
  charsMax: number,
): Skill[] {
  const searched = toSearched(words)
  let left = charsMax
  return skills.filter((skill) => {
    if (!isTriggered(skill, searched, community) || skill.body.length > left) return false
    left -= skill.body.length
    return true
  })
}

/** Whether a skill's trigger matches: its community, or a keyword as a whole word or phrase in any case. */
function isTriggered({ triggers }: Skill, searched: Searched, community: string | null): boolean {
  const isInCommunity = triggers.communities.some(
    (name) => name.replace(/^m\//, '').toLowerCase() === community?.toLowerCase(),
  )
  return isInCommunity || triggers.keywords.some((keyword) => hasPhrase(searched, fold(keyword)))
}

/** A task in which keywords are looked for. */
interface Searched {
  text: string
  /** 1 for each code unit of a letter or a digit. */
  isInWord: Uint8Array
}

/** Characters of a task in which keywords are looked for. */
export const searchedCharsMax = 40_000

function toSearched(words: string): Searched {
  const text = fold(words.slice(0, searchedCharsMax))
  const isInWord = new Uint8Array(text.length)
  for (const { 0: word, index } of text.matchAll(/[\p{L}\p{N}]+/gu)) {
    isInWord.fill(1, index, index + word.length)
  }
  return { text, isInWord }
}

const fold = (text: string): string => text.toLowerCase().replace(/\s+/g, ' ')

function hasPhrase({ text, isInWord }: Searched, phrase: string): boolean {
  for (const at of findPlaces(phrase, text)) {
    if (!isInWord[at - 1] && !isInWord[at + phrase.length]) return true
  }
  return false
}

/** Returns the skills whose grants the agent has, and a note for each skill that is left out. */
export function chooseSkills(
  { skills }: Pick<Definition, 'skills'>,
  policy: GrantPolicy,
  isGranted: (policy: GrantPolicy, grant: string) => boolean,
): { skills: Skill[]; notes: string[] } {
  const missing = (skill: Skill) =>
    skill.requiresGrants.filter((grant) => !isGranted(policy, grant))
  return {
    skills: skills.filter((skill) => missing(skill).length === 0),
    notes: skills.flatMap((skill) => {
      const grants = missing(skill)
      return grants.length === 0
        ? []
        : [`The skill ${skill.name} was left out. Not granted: ${grants.join(', ')}.`]
    }),
  }
}
