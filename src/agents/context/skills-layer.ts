import type { Skill } from '../definitions/read-skill'

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

export interface SkillTask {
  words: string
  /** Without m/; null outside a thread. */
  community: string | null
}

/** Returns the skills whose trigger matches, as long as they fit. */
function chooseFullText(skills: Skill[], task: SkillTask, charsMax: number): Skill[] {
  let left = charsMax
  return skills.filter((skill) => {
    if (!isTriggered(skill, task) || skill.body.length > left) return false
    left -= skill.body.length
    return true
  })
}

/** Whether a skill's trigger matches: its community, or a keyword as a whole word or phrase in any case. */
function isTriggered({ triggers }: Skill, { words, community }: SkillTask): boolean {
  const isInCommunity = triggers.communities.some(
    (name) => name.replace(/^m\//, '').toLowerCase() === community?.toLowerCase(),
  )
  return isInCommunity || triggers.keywords.some((keyword) => hasPhrase(words, keyword))
}

function hasPhrase(text: string, phrase: string): boolean {
  const pattern = phrase
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/\s+/g, '\\s+')
  return new RegExp(`(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])`, 'iu').test(text)
}
