import { accountPath } from '../../shared/paths'

export const schedulesPath = (name: string): string => `${accountPath(name)}/schedules`
