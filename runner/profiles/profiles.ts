import type { ProgramType } from '../../src/shared/runner-protocol.ts'
import { aider } from './aider.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { goose } from './goose.ts'
import { opencode } from './opencode.ts'
import type { Profile } from './profile.ts'

/** How each coding agent is started and judged. */
export const profiles: Record<ProgramType, Profile> = {
  'claude-code': claudeCode,
  codex,
  opencode,
  goose,
  aider,
}
