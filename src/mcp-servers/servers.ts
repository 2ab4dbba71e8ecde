import type { ToolServer } from './define-tool'
import { hubServer } from './hub/server'

/** Every server of this hub. Adding one is its folder and a line here. */
export const servers: ToolServer[] = [hubServer]
