import type { GrantPolicy } from '../../hub/contract/hub'
import type { Definition } from '../definitions/definition'
import type { Skill } from '../definitions/read-skill'

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
