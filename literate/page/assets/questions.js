// The questions of a page. Those that a reader gets wrong come back on the page of the course.

import { miss } from "./again.js";
import { ask } from "./answers.js";
import { every, first } from "./dom.js";

for (const list of every("details.question > ul.task-list")) {
  const question = list.parentElement.querySelector("summary").textContent;
  const title = first("h1")?.firstChild?.textContent ?? document.title;
  ask(list, (isRight) => {
    if (!isRight) miss({ page: location.pathname, title, question });
  });
}
