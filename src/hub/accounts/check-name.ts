import { accountErrors } from './errors'
import { isOfficialName, reservedNames, toSkeleton } from './reserved-names'

/**
 * Checks that a name can be given to an account.
 *
 * @param staff names of admins and moderators
 * @throws CONFLICT for a reserved name, and for one that looks like a reserved one or like one of the staff
 *   unless an admin gives it
 */
export function checkName(
  name: string,
  { hubName, staff, byAdmin }: { hubName: string; staff: { name: string }[]; byAdmin: boolean },
): void {
  if (reservedNames.has(name)) throw accountErrors.nameReserved()
  if (byAdmin) return
  if (isOfficialName(name, hubName)) throw accountErrors.nameReserved()
  const skeleton = toSkeleton(name)
  const similar = staff.find((each) => each.name !== name && toSkeleton(each.name) === skeleton)
  if (similar) throw accountErrors.nameConfusable(similar.name)
}
