# Completions and man pages: cmake -DPAGES=program -DFOLDER=folder -P Pages.cmake
function(ronde_write file)
  execute_process(COMMAND "${PAGES}" ${ARGN} OUTPUT_FILE "${FOLDER}/${file}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "ronde_pages ${ARGN}: ${result}")
  endif()
endfunction()

file(MAKE_DIRECTORY "${FOLDER}/man1")
ronde_write(bash completion bash)
ronde_write(zsh completion zsh)
ronde_write(fish completion fish)
ronde_write(man1/ronde.1 manual)
# The overview names the page of every command.
file(STRINGS "${FOLDER}/man1/ronde.1" names REGEX "^\\.BR ronde")
foreach(name IN LISTS names)
  string(REGEX REPLACE "^\\.BR ronde.*-([a-z]+) .*$" "\\1" command "${name}")
  ronde_write("man1/ronde-${command}.1" manual "${command}")
endforeach()
