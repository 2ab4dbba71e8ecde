import { chooseSkills } from '../context/choose-skills'
import { loadedFacts, readDefinition, type Workbench } from './workbench'

/** Returns the text of a skill that the agent can use in its current task; null for any other. */
export async function readSkill(context: Workbench, name: string): Promise<string | null> {
  const facts = loadedFacts(context.now().events)
  if (!facts) return null
  const found = await readDefinition(context, facts.agentName, facts.definition.etag)
  if (!found.ok) return null
  // After a crash the policy is not in memory yet; the tools that the skill mentions still need
  // their own grants.
  const policy = context.grants?.policy
  const { skills } = policy
    ? chooseSkills(found.definition, policy, context.deps.tools.isGranted)
    : found.definition
  const wanted = name.toLowerCase()
  return skills.find((skill) => skill.name.toLowerCase() === wanted)?.body ?? null
}
