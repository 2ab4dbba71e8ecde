import { chooseSkills } from '../context/choose-skills'
import { type EffectContext, findLoadedFacts, readDefinition } from './effect-context'

/** Returns the text of a skill that the agent can use in its current task; null for any other. */
export async function readSkill(context: EffectContext, name: string): Promise<string | null> {
  const facts = findLoadedFacts(context.getActivation().events)
  if (!facts) return null
  const found = await readDefinition(context, facts.agentName, facts.definition.etag)
  if (!found.ok) return null
  // After a crash the policy is not in memory yet; the tools that the skill mentions still need
  // their own grants.
  const policy = context.hubSnapshot?.policy
  const { skills } = policy
    ? chooseSkills(found.definition, policy, context.deps.tools.isGranted)
    : found.definition
  const wanted = name.toLowerCase()
  return skills.find((skill) => skill.name.toLowerCase() === wanted)?.body ?? null
}
