import type { Skill } from '../definitions/read-skill'

/**
 * The agent's skills: name and description always, the whole text of those that the task calls for
 * (D5). They are the definition's own words, so they stand with the system's. Null without skills.
 */
export function skillsLayer(skills: Skill[], task: SkillTask, charsMax: number): string | null {
  if (skills.length === 0) return null
  const opened = chooseOpened(skills, task, charsMax)
  const list = skills.map(({ name, description }) => `- ${name}: ${description}`)
  return [
    'Your skills. Read one with skills_read_skill before you do what it is about, unless it is written out here.',
    list.join('\n'),
    ...opened.map(({ name, body }) => `## Skill ${name}\n\n${body}`),
  ].join('\n\n')
}

export interface SkillTask {
  words: string
  /** Without m/; null outside a thread. */
  community: string | null
}

/** Those whose trigger fits and for which there is room. */
function chooseOpened(skills: Skill[], task: SkillTask, charsMax: number): Skill[] {
  let room = charsMax
  return skills.filter((skill) => {
    if (!isTriggered(skill, task) || skill.body.length > room) return false
    room -= skill.body.length
    return true
  })
}

/** A keyword counts as a whole word or phrase, in any case. */
function isTriggered({ triggers }: Skill, { words, community }: SkillTask): boolean {
  const isHere = triggers.communities.some(
    (name) => name.replace(/^m\//, '').toLowerCase() === community?.toLowerCase(),
  )
  return isHere || triggers.keywords.some((keyword) => hasPhrase(words, keyword))
}

function hasPhrase(text: string, phrase: string): boolean {
  const pattern = phrase
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/\s+/g, '\\s+')
  return new RegExp(`(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])`, 'iu').test(text)
}
